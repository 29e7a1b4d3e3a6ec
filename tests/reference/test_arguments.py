"""The arguments that signals describe are those that receivers are called with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, get_args

import pytest

from checkout_integration import flows, signals
from checkout_integration.flows.operations import abandoned, alerts
from checkout_integration.models import (
    Checkout,
    Grant,
    Notification,
    Order,
    ReceiverRun,
    SyncCursor,
    SyncRun,
    Transition,
    ValidationDecision,
)
from checkout_integration.protocol.order import Refund
from checkout_integration.signals import SIGNALS, DurableSignal, arguments, user_validated
from checkout_integration.signals.arguments import Origin
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.reference.calls import arguments_of
from tests.reference.docstrings import attribute_texts

KINDS: Final[dict[str, Any]] = {
    "type[Order]": type,
    "NamedSignal": DurableSignal,
    "Origin": str,
    "Order": Order,
    "Order | None": Order | None,
    "Checkout": Checkout,
    "Checkout | None": Checkout | None,
    "Refund | None": Refund | None,
    "Grant": Grant,
    "None": type(None),
    "Transition": Transition,
    "Transition | None": Transition | None,
    "ValidationDecision": ValidationDecision,
    "Notification | None": Notification | None,
    "ReceiverRun | None": ReceiverRun | None,
    "SyncRun | None": SyncRun | None,
    "str": str,
    "int": int,
    "bool": bool,
}
"""Each type that an argument is annotated with, for isinstance."""
received: dict[str, list[dict[str, Any]]] = {}


def receive(signal: DurableSignal[Any], **kwargs: Any) -> None:
    """Note what this receiver of every signal is called with."""
    received.setdefault(signal.name, []).append({"signal": signal, **kwargs})


@pytest.fixture
def calls() -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Connect the receiver for the length of a test; gives its calls by signal."""
    received.clear()
    for signal in SIGNALS.values():
        signal.connect(receive, dispatch_uid="tests.receive")
    yield received
    for signal in SIGNALS.values():
        assert signal.disconnect(dispatch_uid="tests.receive")


@pytest.mark.django_db
def test_receivers_are_called_with_what_is_described(
    checkout_deliver: Deliver,
    calls: dict[str, list[dict[str, Any]]],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names and types, for every signal."""
    leave_one_unpaid(settings)
    for module in (abandoned, alerts):
        monkeypatch.setattr(module.ThisProcess, "looks_at", 0.0)
    monkeypatch.setattr(alerts, "LOOK_EVERY", timedelta(0))
    checkout, charged_back = CheckoutFactory.create_batch(2)
    for sold, status, event in (
        (checkout, "processed", "payment.success"),
        (checkout, "refunded", "payment.refund"),
        (charged_back, "processed", "payment.success"),
        (charged_back, "chargeback", "payment.chargeback"),
        (CheckoutFactory.create(), "canceled", "payment.cancel"),
    ):
        checkout_deliver(order=order_document_for(sold, status=status), event=event)
    checkout_deliver(order=order_document_for(CheckoutFactory.create(), amount=Decimal("0.01")))
    checkout_deliver(event="user.validate")
    let_work_fail(checkout_deliver)
    assert set(calls) == set(SIGNALS)
    for name, made in calls.items():
        kind = vars(arguments)[arguments_of(SIGNALS[name])]
        described = {each: _named(annotation) for each, annotation in kind.__annotations__.items()}
        for call in made:
            assert set(call) == kind.__required_keys__
            wrong = {each: call[each] for each, type_ in described.items() if not is_of(call[each], type_)}
            assert wrong == {}, name


def leave_one_unpaid(settings: Any) -> None:
    """A checkout of the day before yesterday, in a shop that reminds its customers."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ABANDONED_AFTER": 24}
    long_ago = datetime.now(UTC) - timedelta(days=2)
    SyncCursor.objects.create(project="default", lane=abandoned.LANE, watermark=long_ago - timedelta(days=1))
    Checkout.objects.filter(pk=CheckoutFactory.create().pk).update(recorded_at=long_ago)


def let_work_fail(checkout_deliver: Deliver) -> None:
    """A notification in quarantine, a receiver that is given up, and a pass that fails."""
    checkout_deliver(b'{"event": "payment.success", "event": "payment.refund"}')
    failing = ReceiverRun.objects.filter(message__signal="user_validated").get()
    failing.pk, failing.receiver, failing.state, failing.attempts = (
        None,
        "tests.fail",
        ReceiverRun.State.DUE,
        9,
    )
    failing.save()
    user_validated.connect(fail, dispatch_uid="tests.fail")
    run = flows.sync.begin_pass()
    run.windows.update(state="failed", failure="of this test")
    flows.sync.end_pass(run)
    for _ in range(2):
        flows.run_due()
    assert user_validated.disconnect(dispatch_uid="tests.fail")


def fail(**kwargs: Any) -> None:
    """Is a receiver that has failed nine times before."""
    raise ValueError


def is_of(value: object, type_: str) -> bool:
    """Return whether a value is of an annotated type: one of `KINDS`, or one of a few words."""
    if words := re.fullmatch(r"Literal\[(.*)\]", type_):
        return str(value) in re.findall(r"\w+", words[1])
    return isinstance(value, KINDS[type_])


def _named(annotation: object) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))


def test_where_a_signal_comes_from_is_a_known_word() -> None:
    """The words of `Cause.word`, and what only time causes."""
    assert set(get_args(Origin)) == {"notification", "sync", "creation", "staff", "time"}


def test_each_signal_names_the_type_of_its_arguments() -> None:
    """In the text below it, which the page shows."""
    texts = attribute_texts(signals)
    for name, signal in SIGNALS.items():
        assert f"Arguments: `{arguments_of(signal)}`" in texts[name]
