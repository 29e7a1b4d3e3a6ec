"""A receiver that grants, one that undoes it, and a refund before or after: nothing is owned in the end, in each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.models import Checkout, Grant, Incident, ReceiverRun
from checkout_integration.signals import RetryLater, checkout_paid, checkout_reversed, payment_review
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import Failing, Listening, make_due, notification

PAGE = Path(__file__).resolve().parents[3] / "docs" / "running-receivers.md"
HEAD = (
    "the receiver that grants",
    "the refund comes",
    "`undoes=`",
    "it ends",
    "the receiver that revokes ends",
)


@dataclass(frozen=True)
class Cell:
    """A fate of the granting receiver, and the end of both receivers."""

    happens: str
    refund: str
    undoes: str
    grant: str
    revoke: str

    @property
    def row(self) -> tuple[str, ...]:
        """As it stands on the page."""
        return (self.happens, self.refund, self.undoes, self.grant, self.revoke)


CELLS = [
    *(Cell("completes", "after it", undoes, "done", "done") for undoes in ("yes", "no")),
    *(Cell("completes", "before it", undoes, "superseded", "superseded") for undoes in ("yes", "no")),
    *(
        Cell("fails, waits for its next attempt", "after it", undoes, "superseded", "superseded")
        for undoes in ("yes", "no")
    ),
    *(
        Cell("fails, waits for its next attempt", "before it", undoes, "superseded", "superseded")
        for undoes in ("yes", "no")
    ),
    *(
        Cell("asks to be called later", "after it", undoes, "superseded", "superseded")
        for undoes in ("yes", "no")
    ),
    *(
        Cell("is given up after its last attempt", "after it", undoes, "failed", "superseded")
        for undoes in ("yes", "no")
    ),
    *(
        Cell("is given up after its last attempt", "before it", undoes, "superseded", "superseded")
        for undoes in ("yes", "no")
    ),
    *(Cell("is not connected any more", "after it", undoes, "due", "superseded") for undoes in ("yes", "no")),
    *(
        Cell("is not connected any more", "before it", undoes, "due", "superseded")
        for undoes in ("yes", "no")
    ),
    Cell("completes, another one fails", "after it", "yes", "done", "done"),
    Cell("completes, another one fails", "after it", "the other", "done", "superseded"),
    Cell("completes, another one fails", "before it", "yes", "superseded", "superseded"),
    Cell("completes, and is renamed since", "after it", "yes", "done", "failed"),
    Cell("completes, and is renamed since", "after it", "no", "done", "done"),
    Cell("is given up, and completes when staff run it again", "after it", "yes", "done", "done"),
    Cell("is superseded, and staff run it again", "before it", "yes", "superseded", "superseded"),
    *(
        Cell("is given up, and staff mark it as granted", "after it", undoes, "done", "done")
        for undoes in ("yes", "no")
    ),
]


class Trial:
    """One checkout, a wallet, and the receivers of one cell."""

    def __init__(self, cell: Cell, deliver: Deliver, listen: Listening) -> None:
        self.cell, self._deliver, self._listen = cell, deliver, listen
        self.checkout = CheckoutFactory()
        self.fails = "fails, waits" in cell.happens or "given up" in cell.happens
        undoes = {"yes": "grant", "the other": "mail", "no": ()}[cell.undoes]
        listen.connect(checkout_paid, self._grant, "grant")
        if "another" in cell.happens:
            listen.connect(checkout_paid, self._fail, "mail")
        checkout_reversed.connect(self._revoke, weak=False, dispatch_uid="revoke", undoes=undoes)

    def end(self) -> None:
        """Disconnect the remaining receivers."""
        checkout_reversed.disconnect(dispatch_uid="revoke")

    def pay(self) -> None:
        """The payment comes; its receivers are not run yet."""
        assert self._deliver(order=order_document_for(self.checkout)).status_code == 200
        flows.inbox.apply_due()

    def refund(self) -> None:
        """The refund comes."""
        document = order_document_for(self.checkout, status="refunded")
        assert self._deliver(notification("payment.refund", document)).status_code == 200
        flows.inbox.apply_due()

    def run(self, rounds: int = 1) -> None:
        """Run due receivers and retries."""
        for _ in range(rounds):
            ReceiverRun.objects.filter(state="due").update(due_at=timezone.now())
            flows.run_due()

    def happen(self) -> None:
        """Let the receiver come to its state."""
        happens = self.cell.happens
        if "not connected" in happens:
            checkout_paid.disconnect(dispatch_uid="grant")
        self.run(10 if "given up" in happens else 1)
        if "renamed" in happens:
            checkout_paid.disconnect(dispatch_uid="grant")
            self._listen.connect(checkout_paid, self._grant, "grant_items")
            undoes = "grant_items" if self.cell.undoes == "yes" else ()
            checkout_reversed.disconnect(dispatch_uid="revoke")
            checkout_reversed.connect(self._revoke, weak=False, dispatch_uid="revoke", undoes=undoes)
        if "mark" in happens:
            self.credit()
            assert flows.operations.mark_granted(self.run_of("grant"), staff=staff(), reason="by hand")
        if "completes when staff" in happens:
            self.fails = False
            assert flows.operations.retry_run(self.run_of("grant"), staff=staff())
            self.run()

    def run_of(self, receiver: str) -> ReceiverRun:
        """The run of a receiver."""
        return ReceiverRun.objects.get(receiver=receiver)

    def credit(self) -> None:
        """A coin, without looking whether it is there."""
        Group.objects.create(name=f"coin {Group.objects.count()}")

    def _grant(self, **arguments: Any) -> None:
        self.credit()
        if "called later" in self.cell.happens:
            raise RetryLater(3600, "no coin is left")
        if self.fails:
            raise ValueError("not now")

    def _fail(self, **arguments: Any) -> None:
        raise ValueError("the mail server is away")

    def _revoke(self, **arguments: Any) -> None:
        Group.objects.get().delete()


def staff() -> User:
    """A member of staff."""
    return User.objects.get_or_create(username="sam")[0]


@pytest.fixture
def trial(checkout_deliver: Deliver, listen: Listening, settings: Any) -> Any:
    """Give a function that makes the trial of a cell; a worker runs the receivers."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    made: list[Trial] = []

    def make(cell: Cell) -> Trial:
        made.append(Trial(cell, checkout_deliver, listen))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.mark.django_db
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(cell.row[:3]))
def test_each_cell(cell: Cell, trial: Callable[[Cell], Trial]) -> None:
    """The wallet of a naive pair is empty in the end, but for goods that only a person can find."""
    made = trial(cell)
    made.pay()
    if cell.refund == "after it":
        made.happen()
        made.refund()
    else:
        made.refund()
        made.happen()
    made.run()
    if "superseded, and staff" in cell.happens:
        assert flows.operations.retry_run(made.run_of("grant"), staff=staff())
    made.run()
    assert (made.run_of("grant").state, made.run_of("revoke").state) == (cell.grant, cell.revoke)
    assert Group.objects.count() == (1 if cell.revoke == "failed" or cell.undoes == "the other" else 0)
    assert Checkout.objects.get().status == "reversed"


@contextmanager
def calling_back() -> Iterator[list[Any]]:
    """Connect a receiver that undoes the attempt of ``send``, and yield its calls."""
    calls: list[Any] = []
    checkout_reversed.connect(
        lambda **arguments: calls.append(arguments),
        weak=False,
        dispatch_uid="call back",
        undoes="send",
        when="attempted",
    )
    try:
        yield calls
    finally:
        checkout_reversed.disconnect(dispatch_uid="call back")


@pytest.mark.django_db
def test_what_was_never_begun_is_not_undone(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """Also with ``when="attempted"``: the refund came before the receiver's first attempt."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    sent = listen(checkout_paid, name="send")
    with calling_back() as called_back:
        checkout = CheckoutFactory()
        checkout_deliver(order=order_document_for(checkout))
        checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
        flows.run_due()
    assert (sent, called_back) == ([], [])


@pytest.mark.django_db
def test_what_staff_run_again_was_begun_all_the_same(
    checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """With ``when="attempted"``: its ten attempts may have had effects, though the refund came before the eleventh."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "worker"}
    listen(checkout_paid, Failing(), name="send")
    with calling_back() as called_back:
        checkout = CheckoutFactory()
        checkout_deliver(order=order_document_for(checkout))
        for _ in range(10):
            flows.run_due()
            make_due()
        assert flows.operations.retry_run(ReceiverRun.objects.get(), staff=staff())
        checkout_deliver(notification("payment.refund", order_document_for(checkout, status="refunded")))
        flows.run_due()
    sent = ReceiverRun.objects.get(receiver="send")
    assert (sent.state, sent.attempts, len(called_back)) == ("superseded", 0, 1)


@pytest.mark.django_db
def test_nothing_is_marked_as_granted_while_the_grant_is_closed(trial: Callable[[Cell], Trial]) -> None:
    """The reversal commits between the button and its write: staff read that nothing was marked."""
    made = trial(next(cell for cell in CELLS if "mark it as granted" in cell.happens))
    made.pay()
    made.run(10)

    def close_first(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and ReceiverRun._meta.db_table in sql:
            Grant.objects.filter(state="open").update(state="closed")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(close_first):
        assert not flows.operations.mark_granted(made.run_of("grant"), staff=staff(), reason="by hand")
    assert (made.run_of("grant").state, Grant.objects.get().completed) == ("failed", [])


@pytest.mark.django_db
def test_goods_of_a_renamed_receiver_are_reviewed(trial: Callable[[Cell], Trial], listen: Listening) -> None:
    """An incident asks staff to revoke by hand what no receiver can."""
    review = listen(payment_review)
    made = trial(next(cell for cell in CELLS if "renamed" in cell.happens and cell.undoes == "yes"))
    made.pay()
    made.happen()
    made.refund()
    made.run(2)
    assert [each["reason"] for each in review] == ["receivers_renamed"]
    assert Incident.objects.filter(kind="review:receivers_renamed").count() == 1


def table() -> str:
    """The cells as they stand on the page."""
    rows = [HEAD, ("---",) * len(HEAD), *(cell.row for cell in CELLS)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_page_shows_every_cell() -> None:
    """docs/running-receivers.md has this table."""
    assert table() in PAGE.read_text(encoding="utf-8")
