"""A receiver that asks to be called later, and one with its own plan of retries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from checkout_integration import flows
from checkout_integration.flows.checkout.return_page import goods_of
from checkout_integration.flows.monitoring import Severity, health
from checkout_integration.flows.monitoring.queues import order_queues, staff_queues
from checkout_integration.flows.outbox.receivers import record_now
from checkout_integration.models import Checkout, FailedAttempt, Grant, Order, ReceiverRun, StaffAct
from checkout_integration.signals import RetryLater, RetryPlan, checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.flows.shop import Failing, Listening, make_due, notification, owned
from tests.support.flows.shop import own as give

pytestmark = pytest.mark.django_db
CAUSE = "the stock is empty"


class Postponing:
    """An effect that writes, and then asks to be called later; ``attempts`` has the number of each of its calls."""

    def __init__(self, seconds: float = 600, times: int = 10**6) -> None:
        self.seconds, self.times = seconds, times
        self.attempts: list[int] = []

    def __call__(self, attempt: int, **arguments: Any) -> None:
        """Ask, while it should."""
        self.attempts.append(attempt)
        Group.objects.create(name=f"trace {len(self.attempts)}")
        if len(self.attempts) <= self.times:
            raise RetryLater(self.seconds, CAUSE)
        give(**arguments)


def only_run() -> ReceiverRun:
    """Return the run of ``checkout_paid``."""
    return ReceiverRun.objects.get(message__signal="checkout_paid")


def found(name: str) -> Severity:
    """Return how severe a finding is now."""
    return next(each.severity for each in health().findings if each.name == name)


def test_it_is_called_again_and_nothing_has_failed(
    checkout_deliver: Deliver, listen: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call is the first attempt, leaves nothing behind, and is no failure; then it completes."""
    stock = Postponing(times=20)
    listen.connect(checkout_paid, stock, "stock")
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        checkout_deliver(order=order_document_for(CheckoutFactory()))
        for number in range(1, 21):
            run = only_run()
            assert (run.state, run.attempts, run.postponed_for, run.error) == ("due", 0, CAUSE, "")
            assert (run.is_postponed, len(stock.attempts)) == (True, number)
            clock.shift(timedelta(seconds=570))
            flows.run_due()
            assert len(stock.attempts) == number  # not before its time
            assert found("receivers_failing") == found("not_granted") == Severity.OK
            clock.shift(timedelta(seconds=31))
            flows.run_due()
    assert (only_run().state, owned(), stock.attempts) == ("done", 1, [1] * 21)
    assert list(Group.objects.filter(name__startswith="trace").values_list("name", flat=True)) == ["trace 21"]
    assert not FailedAttempt.objects.exists()
    assert {record.levelname for record in caplog.records if "receivers" in record.name} == {"INFO"}


def test_after_its_patience_it_fails_as_any_other(
    checkout_deliver: Deliver, listen: Listening, admin_client: Client
) -> None:
    """A week after it first asked, each call counts, is found by health with its cause, and after ten it is given up."""
    listen.connect(checkout_paid, Postponing(seconds=86_400), "stock")
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        checkout_deliver(order=order_document_for(CheckoutFactory()))
        for _ in range(7):
            assert (only_run().attempts, only_run().postponed_for) == (0, CAUSE)
            clock.shift(timedelta(seconds=86_401))
            flows.run_due()
        run = only_run()
        assert (run.attempts, run.error, run.is_postponed) == (1, f"RetryLater: {CAUSE}", False)
        assert found("receivers_failing") == found("not_granted") == Severity.WARNING
        (finding,) = [each for each in health().findings if each.name == "receivers_failing"]
        assert f"(RetryLater: {CAUSE})" in finding.text and "Correct the code" not in finding.action
        page = reverse("admin:checkout_integration_order_change", args=[Order.objects.get().pk])
        assert f"waits for has not come in time: {CAUSE}." in admin_client.get(page).content.decode()
        for _ in range(9):
            clock.shift(timedelta(days=1, seconds=1))
            flows.run_due()
        assert only_run().state == "failed"
        (finding,) = [each for each in health().findings if each.name == "receivers_given_up"]
        assert "has not come in time" in finding.action and "Correct the code" not in finding.action


def test_a_guest_can_claim_what_waited_in_vain(checkout_deliver: Deliver, listen: Listening) -> None:
    """What waited in vain for an owner is delivered by the claim; of an account's own purchase somebody has to look."""
    listen.connect(checkout_paid, Postponing(), "stock")
    for account in (None, User.objects.create_user("ada")):
        checkout_deliver(order=order_document_for(CheckoutFactory(user=account)))
    ReceiverRun.objects.update(state="failed", attempts=10, error=f"RetryLater: {CAUSE}", postponed_for="")
    assert [goods_of(each) for each in Checkout.objects.order_by("pk")] == ["granting", "delayed"]
    ReceiverRun.objects.update(error="KeyError")
    assert {goods_of(each) for each in Checkout.objects.all()} == {"delayed"}


def test_the_order_names_each_cause(
    checkout_deliver: Deliver, listen: Listening, admin_client: Client
) -> None:
    """Two receivers may wait for different things; the same thing is said once."""

    def unknown_address(**arguments: Any) -> None:
        raise RetryLater(60, "no address yet")

    receivers: dict[str, Any] = {"a": Postponing(), "b": Postponing(), "c": unknown_address}
    for name, receiver in receivers.items():
        listen.connect(checkout_paid, receiver, name)
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    page = reverse("admin:checkout_integration_order_change", args=[Order.objects.get().pk])
    said = re.findall("The goods wait: ([^<]+)", admin_client.get(page).content.decode())[0]
    assert sorted(said.partition(".")[0].split("; ")) == ["no address yet", CAUSE]


@pytest.mark.parametrize("seconds", [31_536_000, 1e13])
def test_no_wait_outlasts_the_patience(checkout_deliver: Deliver, listen: Listening, seconds: float) -> None:
    """A receiver that asks for a year, or for more than a calendar has, is called at the end of the week."""
    listen.connect(checkout_paid, Postponing(seconds=seconds), "stock")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    run = only_run()
    assert run.postponed_since and run.due_at == run.postponed_since + timedelta(days=7)


class SoldOut(RetryLater):
    """The shop's own exception, whose constructor does not call ours."""

    def __init__(self) -> None: ...


@pytest.mark.parametrize("exception", [SoldOut, lambda: RetryLater(timedelta(minutes=1), "RetryLater")])
def test_a_receiver_is_postponed_however_it_asks(
    checkout_deliver: Deliver, listen: Listening, exception: Callable[[], Exception]
) -> None:
    """By an exception of its own, or by a timedelta: nothing of it may end the worker. The summary counts it."""

    def ask(**arguments: Any) -> None:
        raise exception()

    listen.connect(checkout_paid, ask, "stock")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    run = only_run()
    assert (run.state, run.postponed_for) == ("due", "RetryLater")
    assert run.postponed_since and run.due_at == run.postponed_since + timedelta(minutes=1)
    make_due()
    assert flows.run_due() == flows.DueSummary(postponed=1)


@pytest.mark.parametrize(
    ("kind", "given", "error", "words"),
    [
        (RetryPlan, {"waits": [30] * 20}, TypeError, r"a timedelta, such as timedelta\(seconds=30\), not 30"),
        (RetryPlan, {"patience": 5}, TypeError, "Each patience of a RetryPlan is a timedelta, .* not 5"),
        (RetryPlan, {"waits": [timedelta(seconds=-1)]}, ValueError, "between zero and 366 days"),
        (RetryPlan, {"patience": timedelta(days=10**6)}, ValueError, "between zero and 366 days"),
        (RetryLater, {"seconds": "soon", "cause": CAUSE}, TypeError, "seconds as a number or a timedelta"),
        (RetryLater, {"seconds": timedelta(0), "cause": CAUSE}, ValueError, "positive seconds"),
    ],
)
def test_a_plan_that_no_worker_could_follow_is_refused_where_it_is_written(
    kind: Callable[..., object], given: dict[str, Any], error: type[Exception], words: str
) -> None:
    """The first failure would end each worker, one after the other."""
    with pytest.raises(error, match=words):
        kind(**given)


@pytest.mark.parametrize("when", ["completed", "attempted"])
def test_it_was_begun_and_a_closed_grant_ends_its_wait(
    checkout_deliver: Deliver, listen: Listening, when: str
) -> None:
    """What undoes it also where it was only begun runs; it is due at once, and is not called any more."""
    stock, block = Postponing(seconds=86_400), Failing(times=0)
    listen.connect(checkout_paid, stock, "stock")
    listen.connect(checkout_reversed, block, "block", undoes="stock", when=when)
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
    flows.run_due()
    assert (only_run().state, len(stock.attempts)) == ("superseded", 1)
    assert block.tries == (when == "attempted")
    assert Grant.objects.get().state == Grant.State.CLOSED


def test_a_closed_grant_ends_every_wait(checkout_deliver: Deliver, listen: Listening) -> None:
    """Several receivers wait for one payment, one after a failure, and other checkouts' receivers wait beside them."""
    effects: list[Callable[..., Any]] = [
        Postponing(seconds=86_400),
        Postponing(seconds=86_400),
        Failing(times=9),
    ]
    for number, effect in enumerate(effects):
        listen.connect(checkout_paid, effect, f"receiver {number}")
    checkout, other = CheckoutFactory(), CheckoutFactory()
    for each in (checkout, other):
        checkout_deliver(order=order_document_for(each))
    checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
    flows.run_due()
    runs = ReceiverRun.objects.filter(message__signal="checkout_paid")
    states = {each: {run.state for run in runs if run.message.checkout == each} for each in (checkout, other)}
    assert states == {checkout: {"superseded"}, other: {"due"}}


def test_goods_are_named_that_nobody_waits_for_any_more(checkout_deliver: Deliver, listen: Listening) -> None:
    """A run that postponed and was given up, or is overdue, is paid and not granted as any other."""
    listen.connect(checkout_paid, Postponing(), "stock")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    ReceiverRun.objects.update(due_at=datetime.now(UTC) + timedelta(hours=2))
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=1), tick=True) as clock:
        assert found("not_granted") == Severity.OK
        clock.shift(timedelta(hours=2))
        assert found("not_granted") == Severity.WARNING
        assert Order.objects.filter(order_queues()["not_granted"][1]).count() == 1
        ReceiverRun.objects.update(state="failed", due_at=datetime.now(UTC) + timedelta(hours=2))
        assert found("not_granted") == Severity.WARNING
        assert Order.objects.filter(order_queues()["not_granted"][1]).count() == 1


def test_what_waits_is_no_part_of_what_failed(checkout_deliver: Deliver, listen: Listening) -> None:
    """The front page's number, customers and money of failures are those of what failed, and of nothing that waits."""

    def fail_the_dear_one(order: Order, **arguments: Any) -> None:
        raise ValueError if order.amount == Decimal("50.00") else RetryLater(600, CAUSE)

    listen.connect(checkout_paid, fail_the_dear_one, "stock")
    for amount in (Decimal("50.00"), Decimal("7.00"), Decimal("3.00")):
        checkout_deliver(order=order_document_for(CheckoutFactory(expected_amount=amount)))
    queue = next(each for each in staff_queues() if each.name == "receivers_failing")
    assert (queue.count, queue.customers, queue.money) == (1, 1, {"USD": Decimal("50.00")})


def test_staff_end_its_wait(checkout_deliver: Deliver, listen: Listening, admin_user: Any) -> None:
    """The button of a run calls it now."""
    stock = Postponing(seconds=86_400, times=1)
    listen.connect(checkout_paid, stock, "stock")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    assert flows.operations.retry_run(only_run(), staff=admin_user)
    flows.run_due()
    assert (only_run().state, stock.attempts) == ("done", [1, 1])


def test_a_plan_of_its_own(checkout_deliver: Deliver, listen: Listening) -> None:
    """Its waits, one after the other; after the last it is given up. Another receiver has the usual ones."""
    quick, usual = Failing(), Failing()
    waits = (timedelta(seconds=5), timedelta(hours=2))
    listen.connect(checkout_paid, quick, "quick", plan=RetryPlan(waits=waits))
    listen.connect(checkout_paid, usual, "usual")
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        checkout_deliver(order=order_document_for(CheckoutFactory()))
        for wait, tries in ((6, 2), (7_000, 2), (201, 3)):
            clock.shift(timedelta(seconds=wait))
            flows.run_due()
            assert quick.tries == tries
        states = dict(ReceiverRun.objects.values_list("receiver", "state"))
    assert states == {"quick": "failed", "usual": "due"}


def expect_pause_is_shown(client: Client) -> None:
    """On the front page, on that of failures with the way to resume it, and on that of an order that waits."""
    desk = "/admin/checkout_integration"
    front = client.get(f"{desk}/").content.decode()
    assert "which staff have paused" in front and f"{desk}/receiverrun/?state=paused" in front
    run = ReceiverRun.objects.filter(receiver="paused").order_by("due_at", "pk")[0]
    failures = client.get(f"{desk}/failures/").content.decode()
    assert "the game is down" in failures and f"{desk}/receiverrun/{run.pk}/resume/" in failures
    confirmation = client.get(f"{desk}/receiverrun/{run.pk}/resume/").content.decode()
    waiting = f'<a href="{desk}/receiverrun/?state=paused">3</a>'
    assert f"Runs that wait: {waiting}." in confirmation and "the game is down" in confirmation
    order = client.get(f"{desk}/order/{run.message.payer_id}/change/").content.decode()
    assert "The goods wait: staff have paused" in order and "being delivered" not in order


def test_a_paused_receiver_waits_until_it_is_resumed(
    checkout_deliver: Deliver, listen: Listening, admin_user: Any, admin_client: Client
) -> None:
    """Its runs wait, of old and of new payments; the others go on. Health names the orders. Then each runs once."""
    paused, other = Failing(times=1), Failing(times=0)
    listen.connect(checkout_paid, paused, "paused")
    listen.connect(checkout_paid, other, "other")
    record_now()
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        checkout_deliver(order=order_document_for(CheckoutFactory()))
        assert flows.operations.pause_receiver("paused", staff=admin_user, reason="the game is down") == 1
        for _ in range(2):
            checkout_deliver(order=order_document_for(CheckoutFactory()))
        for minutes, severity, orders in (
            (4, Severity.OK, 0),
            (2, Severity.WARNING, 3),
            (60 * 25, Severity.WARNING, 3),
        ):
            clock.shift(timedelta(minutes=minutes))
            flows.run_due()
            record_now()
            assert (paused.tries, other.tries) == (1, 3)
            assert found("receivers_paused") == severity
            (finding,) = [
                each for each in flows.operations.health().findings if each.name == "receivers_paused"
            ]
            assert finding.figures["orders"] == orders
            assert ("Orders paid that wait for it for over five minutes: 3" in finding.text) == bool(orders)
            assert {found(name) for name in ("receivers_unknown", "not_granted", "receivers_failing")} == {
                Severity.OK
            }
        (pause,) = flows.operations.pauses()
        assert pause == flows.operations.pause_of("paused")
        assert (pause.receiver, pause.reason, pause.runs) == ("paused", "the game is down", 3)
        assert dict(Counter(ReceiverRun.objects.values_list("receiver", "state"))) == {
            ("paused", "paused"): 3,
            ("other", "done"): 3,
        }
        expect_pause_is_shown(admin_client)
        ReceiverRun.objects.filter(receiver="paused").update(due_at=datetime.now(UTC) + timedelta(hours=1))
        assert flows.operations.resume_receiver("paused", staff=admin_user) == 3
        flows.run_due()
    assert (paused.tries, other.tries) == (4, 3)
    assert (flows.operations.pauses(), flows.operations.pause_of("paused")) == ([], None)
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"done"}
    acts = StaffAct.objects.filter(staff=admin_user).values_list("act", "receiver", "reason", "counts")
    assert list(acts.order_by("pk")) == [
        ("pause", "paused", "the game is down", {"receiver_runs": 1}),
        ("resume", "paused", "", {"receiver_runs": 3}),
    ]


def test_what_is_taken_out_after_a_resume_is_put_back(checkout_deliver: Deliver, listen: Listening) -> None:
    """By a process that read before it that the receiver is paused, or where the one that resumed it died half-way."""
    given = Failing(times=1)
    listen.connect(checkout_paid, given, "given")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    ReceiverRun.objects.update(state="paused", due_at=datetime.now(UTC))
    record_now()
    assert only_run().state == "due"


def test_a_grant_that_was_closed_while_paused_is_not_granted(
    checkout_deliver: Deliver, listen: Listening
) -> None:
    """Nothing is given that was paid back meanwhile."""
    paused = Failing(times=1)
    listen.connect(checkout_paid, paused, "paused")
    record_now()
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    flows.operations.pause_receiver("paused", reason="the game is down")
    checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
    flows.operations.resume_receiver("paused")
    make_due()
    flows.run_due()
    assert (only_run().state, paused.tries) == ("superseded", 1)


def test_what_cannot_be_paused_or_resumed_says_so() -> None:
    """By None, and in the command as an error."""
    assert flows.operations.pause_receiver("nobody", reason="none") is None
    assert flows.operations.resume_receiver("nobody") is None
    with pytest.raises(CommandError, match="'nobody' cannot be paused: no process has had it"):
        call_command("checkout_replay", receiver="nobody", pause="none")
    for blank in ("", "  "):
        with pytest.raises(CommandError, match="--pause needs a reason"):
            call_command("checkout_replay", receiver="nobody", pause=blank)
    with pytest.raises(CommandError, match="'nobody' is not paused"):
        call_command("checkout_replay", receiver="nobody", resume=True)
    with pytest.raises(CommandError, match="--pause goes with --receiver, --as and --json only"):
        call_command("checkout_replay", receiver="nobody", pause="none", failed=True)


def test_the_command_pauses_and_resumes(
    checkout_deliver: Deliver, listen: Listening, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says how many runs wait, and are due."""
    listen.connect(checkout_paid, Failing(times=1), "shop.grant")
    record_now()
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    call_command("checkout_replay", receiver="shop.grant", pause="the game is down")
    assert capsys.readouterr().out == "shop.grant is paused; 1 runs wait\n"
    call_command("checkout_replay", receiver="shop.grant", resume=True)
    printed = capsys.readouterr().out
    assert printed.startswith("shop.grant is resumed; 1 runs are due. Every process knows it within a minute")


@pytest.mark.parametrize(("seconds", "cause"), [(0, CAUSE), (-1, CAUSE), (float("nan"), CAUSE), (60, "")])
def test_what_it_asks_is_checked(seconds: float, cause: str) -> None:
    """A wait that is none, or one without a cause, is an error in the receiver."""
    with pytest.raises(ValueError, match="RetryLater needs positive seconds and a cause"):
        RetryLater(seconds, cause)


@pytest.mark.parametrize("how", ["claim", "link"])
@pytest.mark.parametrize("waited", ["a while", "too long", "in vain"])
def test_an_owner_ends_the_wait(
    client: Client, checkout_deliver: Deliver, listen: Listening, how: str, waited: str
) -> None:
    """What the shop's code waits for may be the account of a guest: a claim and a link make it due at once, it alone.

    Also where its patience has ended, or it was given up. The page of the claim runs it once it is answered, where RUNNER
    is "request".
    """
    stock = Postponing(times=2)
    listen.connect(checkout_paid, stock, "stock")
    documents = [
        {**order_document_for(CheckoutFactory()), "user": UserDocumentFactory(external_id=None)}
        for _ in range(2)
    ]
    for document in documents:
        checkout_deliver(order=document)
    if waited != "a while":
        state = {"too long": "due", "in vain": "failed"}[waited]
        ReceiverRun.objects.update(postponed_for="", error=f"SoldOut: {CAUSE}", attempts=5, state=state)
    checkout = Checkout.objects.get(orders__order_id=documents[0]["id"])
    ada = User.objects.create_user("ada")
    if how == "claim":
        client.force_login(ada)
        page = reverse(
            "checkout_integration:claim", args=[flows.checkout.signed_reference(checkout.reference)]
        )
        client.post(page)
    else:
        customer = checkout.orders.get().user
        assert customer is not None
        assert flows.operations.link_account(customer, ada, reason="their receipt")
        flows.run_due()
    other = "failed" if waited == "in vain" else "due"
    assert list(ReceiverRun.objects.order_by("pk").values_list("state", flat=True)) == ["done", other]
    assert len(stock.attempts) == 3
