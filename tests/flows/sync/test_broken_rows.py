"""A row of the list that cannot be read costs that row: the pass records the others and reports this one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.client.errors import ResponseUnreadable
from checkout_integration.flows.sync import DriftReport, drift_report, sync_transactions
from checkout_integration.models import Checkout, CheckoutUser, Incident, Order
from checkout_integration.protocol.listing import parse_transaction_page
from checkout_integration.protocol.responses import MalformedResponse
from checkout_integration.protocol.strict_json import REPLACEMENT, StrictJsonError
from checkout_integration.testing.factories import CheckoutFactory
from tests.support.broken_texts import FREE, KINDS, MARK, NAMES, in_json, placed, with_key
from tests.support.corpora import corpus, naughty_strings
from tests.support.flows.list_service import ListService, document, listed, report
from tests.support.scale import times

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("installed_long_ago")]
kinds = pytest.mark.parametrize("content", KINDS.values(), ids=KINDS)


def sending(service: ListService, content: bytes) -> None:
    """Let the service send these bytes in place of the mark."""
    service.sent = lambda body: body.replace(MARK.encode(), content)


def in_json_place(service: ListService, content: bytes) -> None:
    """Let the service send these bytes in place of the mark and its quotes."""
    service.sent = lambda body: body.replace(f'"{MARK}"'.encode(), content)


def unknown(report: DriftReport) -> list[str]:
    """The ids of the rows that the pass could not read."""
    return [each.order_id for each in report.waiting if (each.kind, each.there) == ("unknown", "unreadable")]


def recorded() -> set[str]:
    """The ids of the orders here."""
    return set(Order.objects.values_list("order_id", flat=True))


def between(row: dict[str, Any], place: str, number: int) -> list[dict[str, Any]]:
    """Three rows, the second of which is broken at this place."""
    around = [
        listed(f"{side} {place}", 3 * number + minute) for minute, side in ((0, "before"), (2, "after"))
    ]
    return [around[0], placed(row, place, f"Gem {MARK}!"), around[1]]


@kinds
def test_a_free_text_costs_its_characters(service: ListService, content: bytes) -> None:
    """In each place: the row is recorded with its checkout, and one incident names the field; later passes add nothing."""
    sending(service, content)
    checkouts = {place: CheckoutFactory() for place in FREE}
    for number, (place, checkout) in enumerate(checkouts.items()):
        reference = {"checkout_reference": checkout.reference}
        row = listed(checkout.order_id, 3 * number + 1, metadata=reference)
        service.rows += between(row, place, number)
    assert unknown(report()) == []
    report()
    assert len(recorded()) == 3 * len(FREE)
    for place, checkout in checkouts.items():
        checkout.refresh_from_db()
        order = Order.objects.get(order_id=checkout.order_id)
        assert (order.status, order.checkout, checkout.status) == (
            "processed",
            checkout,
            Checkout.Status.PAID,
        )
        assert REPLACEMENT in json.dumps(order.whole_document, default=str, ensure_ascii=False)
        field = place.partition(".")[0]
        kind = f"unreadable:{'other' if field == 'from_the_future' else field}"
        assert list(Incident.objects.filter(order=order).values_list("kind", flat=True)) == [kind], place


@kinds
def test_a_broken_name_costs_its_row(service: ListService, content: bytes) -> None:
    """In each place: the other rows are recorded by the same pass; each of these has an incident and is in each report."""
    sending(service, content)
    for number, place in enumerate(NAMES):
        row = listed(f"broken {place}", 3 * number + 1, user__external_id="player")
        service.rows += between(row, place, number)
    named = {f"broken {place}" for place in NAMES if place != "id"}
    for _ in range(2):
        reported = set(unknown(report()))
        (stand_in,) = reported - named
        assert (named <= reported, stand_in.startswith(f"broken idGem {REPLACEMENT}")) == (True, True)
        assert recorded() == {f"{side} {place}" for side in ("before", "after") for place in NAMES}
    details = Incident.objects.filter(kind="not_applied").values_list("detail", flat=True)
    assert {each.partition(" at order ")[2] for each in details} == reported
    assert all("has characters that cannot be read" in each for each in details)
    assert not CheckoutUser.objects.filter(external_id="player").exists()


@kinds
@pytest.mark.parametrize("place", ["", "metadata", "from_the_future"])
def test_a_broken_key_costs_its_row(service: ListService, content: bytes, place: str) -> None:
    """It may be the key of anything."""
    sending(service, content)
    service.rows = [listed("before", 1), with_key(listed("broken", 2), place), listed("after", 3)]
    assert unknown(report()) == ["broken"]
    assert recorded() == {"before", "after"}


def test_no_two_names_become_one(service: ListService) -> None:
    """Rows whose ids differ in their broken bytes are reported one by one, and an order with U+FFFD in its id is another."""
    contents = [b"\xff", b"\xfe", rb"\u0000", rb"\ud800", b"\x00"]
    service.rows = [listed(f"id {number}-{MARK}", number) for number in range(len(contents))]
    service.rows += [listed(f"id {REPLACEMENT}", 9)]

    def sent(body: bytes) -> bytes:
        for number, content in enumerate(contents):
            body = body.replace(f"{number}-{MARK}".encode(), content)
        return body

    service.sent = sent
    assert len(set(unknown(report("all")))) == len(contents)
    assert recorded() == {f"id {REPLACEMENT}"}
    assert Incident.objects.filter(kind="not_applied").count() == len(contents)
    assert len(set(unknown(report("all")))) == len(contents)
    assert Incident.objects.filter(kind="not_applied").count() == len(contents)


ONE_ROW = {
    "a long number": (b"9" * 5000, True),
    "a large exponent": (b"1.1e-21", True),
    "a pair": (rb'"\ud83d\ude00"', True),
    "too deep for a database": (b"[" * 40 + b"]" * 40, False),
    "too deep for a parser": (b"[" * 50_000 + b"]" * 50_000, False),
    "too many values": (b"[" + b"0," * 150_000 + b"0]", False),
    "a line end in a text": (b'"a\nb"', False),
    "equal keys": (b'1,"x":2', False),
    "NaN": (b"NaN", False),
    "no JSON": (b"nul", False),
    "nothing": (b"", False),
    "a broken byte outside of a text": (b"\xff", False),
    "NUL outside of a text": (b"\x00", False),
}
"""What one row may have in place of a value, and whether the row can be recorded all the same."""


@pytest.mark.parametrize(("content", "is_read"), ONE_ROW.values(), ids=ONE_ROW)
def test_what_one_row_has_costs_no_other_row(service: ListService, content: bytes, is_read: bool) -> None:
    """The rows around it are recorded by the same pass, of whatever our reader or the standard library would not read."""
    in_json_place(service, content)
    service.rows = [listed("before", 1), {"x": MARK, **listed("broken", 2)}, listed("after", 3)]
    assert unknown(report("all")) == ([] if is_read else ["broken"])
    assert recorded() == {"before", "after", *(["broken"] if is_read else [])}
    assert Incident.objects.filter(kind="not_applied").count() == (0 if is_read else 1)


def test_a_row_whose_id_is_after_its_fault_is_named(service: ListService) -> None:
    """The id of the row itself, and not one of what is in it."""
    in_json_place(service, b"[" * 50_000 + b"]" * 50_000)
    service.rows = [{"x": {"id": "inner", "deep": MARK}, **listed("outer", 1)}, listed("after", 2)]
    assert unknown(report()) == ["outer"]


def test_a_row_without_an_id_that_can_be_read_is_reported(service: ListService) -> None:
    """By a name of its own, which stays the same from pass to pass."""
    in_json_place(service, b"[" * 50_000 + b"]" * 50_000)
    service.rows = [{"x": MARK, "created_at": listed("a")["created_at"]}, listed("after", 2)]
    first, second = unknown(report()), unknown(report())
    assert first == second and len(first) == 1 and first[0].startswith("row~")


def test_broken_rows_on_pages_that_overlap(service: ListService, settings: Any) -> None:
    """No row is lost around them, and the pass ends."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "LIST_PAGE_SIZE": 3}
    sending(service, b"\xff")
    service.rows = [listed(f"{number}{MARK if number % 3 == 0 else ''}", number) for number in range(20)]
    shown = report("all")
    assert len(unknown(shown)) == 7
    assert recorded() == {str(number) for number in range(20) if number % 3}


def test_a_broken_text_around_the_rows_costs_nothing(service: ListService) -> None:
    """The page is read, with a byte-order mark or without."""
    service.rows = [listed("a", 1)]
    service.sent = lambda body: b"\xef\xbb\xbf" + body.replace(b'{"count"', b'{"note":"\xff\x00","count"')
    report()
    assert recorded() == {"a"}


def test_a_broken_reversal_document_is_marked(service: ListService) -> None:
    """Its free texts are those of its order."""
    sending(service, b"\xff")
    service.rows = [
        listed("paid", 1),
        placed(document("back", of="paid"), "refund.reason"),
    ]
    report()
    assert Order.objects.get().status == "refunded"
    assert list(Incident.objects.values_list("kind", flat=True)) == ["unreadable:refund"]


def test_a_dry_run_reports_broken_rows(service: ListService) -> None:
    """Row by row, and writes nothing."""
    sending(service, b"\xff")
    service.rows = [listed("before", 1), placed(listed("broken", 2), "transaction"), listed("after", 3)]
    shown = drift_report(sync_transactions(dry_run=True))
    assert unknown(shown) == ["broken"]
    assert {each.order_id for each in shown.waiting} == {"before", "broken", "after"}
    assert not Order.objects.exists() and not Incident.objects.exists()


def test_an_order_that_cannot_be_read_is_not_called_unknown(service: ListService) -> None:
    """Staff who refresh it read that the answer was not understood."""
    service.rows = [listed("broken")]
    report()
    service.rows = [placed(listed("broken"), "transaction")]
    sending(service, b"\xff")
    with pytest.raises(ResponseUnreadable, match="transaction has characters that cannot be read"):
        flows.refresh_order(Order.objects.get())


def test_every_naughty_string_in_a_row(service: ListService) -> None:
    """Each cut in the middle of a character: in a free text it is recorded and marked, in an id it is reported."""
    strings = naughty_strings()[:: len(naughty_strings()) // times(25, len(naughty_strings()))]
    cuts = [in_json(string[:200]) + b"\xc3" for string in strings]
    service.rows = [
        row
        for number in range(len(cuts))
        for row in (
            listed(f"free {number}", number, description=f"{MARK}{number}|"),
            listed(f"{number}~{MARK}{number}|", number),
        )
    ]

    def sent(body: bytes) -> bytes:
        for number, cut in enumerate(cuts):
            body = body.replace(f"{MARK}{number}|".encode(), cut)
        return body

    service.sent = sent
    shown = report()
    assert recorded() == {f"free {number}" for number in range(len(cuts))}
    assert Incident.objects.filter(kind="unreadable:description").count() == len(cuts)
    assert len(unknown(shown)) == len(cuts)


@pytest.mark.parametrize("place", ["description", "transaction"])
def test_the_files_of_the_json_suite_in_rows(service: ListService, place: str) -> None:
    """One row each, in one pass: every file that leaves the brackets and quotes around it as they are costs its row alone."""
    files = {
        path.stem: path.read_bytes() for path in corpus("json-test-suite/test_parsing").glob("[iyn]_*.json")
    }
    delimited = {name: content for name, content in files.items() if is_delimited(content)}
    assert (len(files), len(delimited)) == (318, 275)
    assert all(name.startswith("n_") for name in files.keys() - delimited.keys())
    for number, name in enumerate(sorted(delimited)):
        service.rows += [listed(f"whole {name}", number), {**listed(name, number), place: f"{MARK} {name}"}]

    def sent(body: bytes) -> bytes:
        return re.sub(rb'"%s ([^"]+)"' % MARK.encode(), lambda name: delimited[name[1].decode()], body)

    service.sent = sent
    shown = report("all")
    assert {f"whole {name}" for name in delimited} <= recorded()
    assert recorded() | set(unknown(shown)) == {
        f"{whole}{name}" for whole in ("whole ", "") for name in delimited
    }
    if place == "description":
        assert {name for name in delimited if name.startswith("y_")} - recorded() == REFUSED


REFUSED = {"y_object_duplicated_key", "y_object_duplicated_key_and_value", "y_object_escaped_null_in_key"}
"""JSON that no row can be read with: two equal keys, and a key that no database stores."""


def is_delimited(content: bytes) -> bool:
    """Whether a row ends where its brackets do, with this as a value."""
    try:
        page = parse_transaction_page(b'{"items":[{"x":%s},{"id":"after"}]}' % content)
    except (StrictJsonError, MalformedResponse):
        return False
    return page.ids[1:] == ("after",)
