"""Facts of one observation, row by row of the table of sources, and their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.policy.events import facts_of
from checkout_integration.policy.facts import Facts, Slot, join
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.status import displayed_status
from checkout_integration.protocol.vocabulary import OrderStatus
from tests.support.policy.observations import TIMING, ZERO_TIMES, at, creation, message, row, written


def facts(*observations: Observation) -> Facts:
    """The joined facts of these observations."""
    collected = Facts(slots={})
    for observation in observations:
        collected = join(collected, facts_of(observation, TIMING))
    return collected


def times(*observations: Observation) -> dict[str, str]:
    """The time of each slot."""
    return {key: slot.time for key, slot in facts(*observations).slots.items()}


def status(*observations: Observation) -> str:
    """The displayed status."""
    return displayed_status(facts(*observations))


@pytest.mark.spec("EVT-03", "STA-03")
@pytest.mark.parametrize(
    "order_status", ["processed", "created", "", "pending", "rejected", "canceled", "no such status"]
)
def test_a_success_is_processed_whatever_its_object_says(order_status: str) -> None:
    """The event decides: payment.success can carry ``created``."""
    assert times(message("payment.success", 5, status=order_status)) == {
        "processed/notification": stamp(at(5))
    }


@pytest.mark.spec("EVT-05", "STA-06")
def test_a_refund_has_its_own_time() -> None:
    """``refunded_at`` beats the time of the message."""
    refund = message("payment.refund", 90, refunded_at=written(at(60)))
    assert times(refund) == {"refunded/notification": stamp(at(60))}


@pytest.mark.spec("ORD-11", "EVT-05")
@pytest.mark.parametrize("zero", ZERO_TIMES)
def test_a_refund_without_a_time_has_that_of_its_message(zero: str | None) -> None:
    """Null, "", year 1 and the epoch are no time."""
    assert times(message("payment.refund", 90, refunded_at=zero)) == {"refunded/notification": stamp(at(90))}


@pytest.mark.spec("EVT-04", "STA-07")
def test_a_chargeback_is_no_refund() -> None:
    """A chargeback message also says ``refunded`` and has a refund object: neither is a fact."""
    chargeback = message(
        "payment.chargeback", 90, status="chargeback", refunded=True, refunded_at=written(at(60)), refund={}
    )
    assert times(chargeback) == {"chargeback/notification": stamp(at(90))}


@pytest.mark.spec("EVT-06", "STA-08", "STA-04", "STA-05")
@pytest.mark.parametrize(
    ("order_status", "kind"),
    [("rejected", "rejected"), ("canceled", "canceled"), ("created", "canceled"), ("processed", "canceled")],
)
@pytest.mark.parametrize(
    "more", [{}, {"canceled": True}, {"cancellation": {"code": "02", "reason": "Declined by the bank"}}]
)
def test_a_cancel_is_rejected_where_its_object_says_so(
    order_status: str, kind: str, more: dict[str, object]
) -> None:
    """payment.cancel is also sent for a declined payment, for which deployed services give a cancellation too."""
    sent = message("payment.cancel", 5, status=order_status, **more)
    assert times(sent) == {f"{kind}/notification": stamp(at(5))}


@pytest.mark.spec("ORD-08")
@pytest.mark.parametrize("order_status", ["canceled", "rejected"])
def test_a_cancel_has_its_own_time(order_status: str) -> None:
    """``canceled_at`` beats the time of the message."""
    canceled = times(message("payment.cancel", 30, status=order_status, canceled_at=written(at(3))))
    assert canceled == {f"{order_status}/notification": stamp(at(3))}


@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize("reversal", ["refunded", "chargeback"])
def test_the_status_of_a_reread_message_shows_a_reversal(reversal: str) -> None:
    """A success that is retried after the refund may carry the order as it is by then."""
    known_times = times(message("payment.success", 100, delivery_try=10, status=reversal))
    assert known_times == {"processed/notification": stamp(at(0)), f"{reversal}/notification": stamp(at(100))}


def test_the_message_of_a_reversal_has_a_better_time_than_a_status() -> None:
    """A reread status gives only a latest possible time; the earliest of these is the closest."""
    reread = [
        message("payment.success", 600 + 10 * n, delivery_try=60 + n, status="chargeback") for n in (0, 1)
    ]
    own = message("payment.chargeback", 520, delivery_try=2, status="chargeback")
    assert times(*reversed(reread))["chargeback/notification"] == stamp(at(600))
    assert times(*reread, own)["chargeback/notification"] == stamp(at(500))


def test_a_reread_chargeback_is_later_than_the_refund_before_it() -> None:
    """Its time is not the time of the success whose message showed it."""
    refund = message("payment.refund", 300, status="refunded", refunded_at=written(at(300)))
    success = message("payment.success", 900, delivery_try=90, status="chargeback")
    assert status(refund, success) == "chargeback"


@pytest.mark.spec("EVT-03", "EVT-04", "EVT-05", "EVT-06")
@pytest.mark.parametrize("other", ["created", "processed", "canceled", "rejected", "pending"])
def test_no_other_status_of_a_message_is_a_fact(other: str) -> None:
    """Only reversals are read from the status of a message of another event."""
    assert set(times(message("payment.refund", status=other))) == {"refunded/notification"}


@pytest.mark.spec("WHK-03")
@pytest.mark.parametrize("event", ["payment.unheard_of", "user.validate", ""])
def test_an_unknown_event_is_no_fact(event: str) -> None:
    """It is stored and shown as an incident, and changes no status."""
    assert times(message(event, status="refunded")) == {}


@pytest.mark.spec("STA-01")
@pytest.mark.parametrize("listed_status", OrderStatus)
def test_a_row_of_the_list_shows_its_status(listed_status: OrderStatus) -> None:
    """The row may be stale: its time is a quarter of an hour before it was read."""
    assert times(row(listed_status, 60)) == {f"{listed_status}/list": stamp(at(45))}


@pytest.mark.spec("ORD-11")
@pytest.mark.parametrize(
    ("listed_status", "field"),
    [("refunded", "refunded_at"), ("canceled", "canceled_at"), ("rejected", "canceled_at")],
)
def test_a_row_has_the_later_of_its_own_time_and_the_margin(listed_status: str, field: str) -> None:
    """A refund of two minutes ago does not become fifteen minutes old."""
    document = {field: written(at(58))}
    assert times(row(listed_status, 60, **document)) == {f"{listed_status}/list": stamp(at(58))}
    assert times(row(listed_status, 120, **document)) == {f"{listed_status}/list": stamp(at(105))}


@pytest.mark.spec("STA-01")
def test_a_row_with_an_unknown_status_is_no_fact() -> None:
    """It is stored and shown as an incident, and changes no status."""
    assert times(row("no such status")) == {}


def test_a_row_that_was_read_at_an_unknown_time_tells_its_status() -> None:
    """Without a ``Date`` header only the document's own time is left."""
    assert times(row("processed", None), row("refunded", None, refunded_at=written(at(3)))) == {
        "processed/list": "",
        "refunded/list": stamp(at(3)),
    }


def test_the_larger_time_of_two_rows_stands() -> None:
    """The list shows the same order again and again; the last row counts."""
    assert times(row("processed", 20), row("processed", 80), row("processed", 40)) == {
        "processed/list": stamp(at(65))
    }


@pytest.mark.spec("STA-02")
def test_our_own_creation_is_created_at_no_time() -> None:
    """A success may arrive before the response to our call, and must win."""
    assert times(creation()) == {"created/creation": ""}


@pytest.mark.spec("EVT-10")
def test_the_attempts_before_it_are_taken_off_the_time_of_a_message() -> None:
    """``created_at`` is rewritten at each attempt, every ten minutes."""
    assert times(message("payment.success", 2880, delivery_try=288)) == {
        "processed/notification": stamp(at(0))
    }


@pytest.mark.spec("EVT-12", "WHK-05", "EVT-10")
def test_nothing_is_taken_off_where_the_service_does_not_rewrite_the_time() -> None:
    """The specification's reading is a setting: RETRY_INTERVAL 0."""
    timing = Timing(retry_interval=timedelta(0))
    observed = facts_of(message("payment.success", 30, delivery_try=3), timing)
    assert observed.slots["processed/notification"].time == stamp(at(30))


@pytest.mark.spec("WHK-07", "EVT-10")
def test_the_time_of_the_smallest_attempt_stands() -> None:
    """It has the smallest error, whichever arrives first."""
    late, early = (message("payment.success", minutes, delivery_try=n) for minutes, n in ((30, 3), (11, 1)))
    assert times(late, early) == times(early, late) == {"processed/notification": stamp(at(1))}


def test_the_earlier_time_of_a_repeated_attempt_stands() -> None:
    """A tie of attempts must not be decided by arrival."""
    first, second = message("payment.success", 5), message("payment.success", 4)
    assert times(first, second) == times(second, first) == {"processed/notification": stamp(at(4))}


def test_of_one_attempt_the_one_with_a_time_stands() -> None:
    """No time is not the earliest time."""
    timeless, timed = message("payment.success", None), message("payment.success", 4)
    assert times(timeless, timed) == times(timed, timeless) == {"processed/notification": stamp(at(4))}


def test_an_own_time_outlives_an_earlier_attempt_without_one() -> None:
    """A document's own time survives a message without one."""
    with_own = message("payment.refund", 90, delivery_try=3, refunded_at=written(at(60)))
    without = message("payment.refund", 65)
    assert times(with_own, without) == times(without, with_own) == {"refunded/notification": stamp(at(60))}


def test_of_two_own_times_the_earlier_stands() -> None:
    """Whatever their attempt numbers."""
    refunds = [
        message("payment.refund", 90 + n, delivery_try=n, refunded_at=written(at(60 - n))) for n in (0, 1)
    ]
    assert times(*refunds) == times(*reversed(refunds)) == {"refunded/notification": stamp(at(59))}


@pytest.mark.spec("WHK-07")
@pytest.mark.parametrize(
    ("attempt", "expected"), [(10**12, ""), (10**40, ""), (-1, stamp(at(0))), (-(10**40), stamp(at(0)))]
)
def test_an_absurd_attempt_is_survived(attempt: int, expected: str) -> None:
    """A time outside the calendar is no time; a negative attempt counts as the first."""
    assert times(message("payment.success", delivery_try=attempt)) == {"processed/notification": expected}


def test_times_sort_as_text_whatever_the_year() -> None:
    """Slots are compared as text: the year 999 lies before 2024."""
    years = [datetime(year, 1, 1, tzinfo=UTC) for year in (2, 999, 1999, 2024, 9999)]
    assert sorted(map(stamp, years)) == [stamp(year) for year in years]


@pytest.mark.parametrize(
    ("slot", "time"),
    [(Slot(), ""), (Slot(at="2024"), "2024"), (Slot(at="2024", own="2023"), "2023")],
)
def test_the_time_of_a_slot(slot: Slot, time: str) -> None:
    """Its own, else that of the message, else none."""
    assert slot.time == time


def test_a_kind_is_known_by_its_source() -> None:
    """The rules ask for signed facts where the list may err."""
    known = facts(message("payment.success"), row("rejected"))
    assert known.knows(OrderStatus.REJECTED)
    assert known.knows(OrderStatus.REJECTED, Source.LIST)
    assert not known.knows(OrderStatus.REJECTED, Source.NOTIFICATION, Source.STAFF)
