"""An order computed once more from what is stored about it: its row must be what that adds up to.

What notifications say is computed from their stored bodies. What the list, the response of the creation and staff said is not
stored as such: it is taken from the order's row, from the slots and stamps of those sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import installed_at
from checkout_integration.flows.inbox import read
from checkout_integration.flows.ledger import identity_of, state_of
from checkout_integration.flows.ledger.batch import verdict_of
from checkout_integration.flows.ledger.deciding import terms_of
from checkout_integration.flows.ledger.recording import columns_of, item_rows, personal_row
from checkout_integration.flows.ledger.reversals import document_amounts, stated_amounts
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    OrderItem,
    PersonalData,
    Transition,
)
from checkout_integration.models.columns import as_column_text
from checkout_integration.policy.binding import reference_of
from checkout_integration.policy.facts import slot_key
from checkout_integration.policy.fields import Merged, stamps_from_json
from checkout_integration.policy.observation import Source, Timing
from checkout_integration.policy.product import product_of
from checkout_integration.policy.quarantine import PAYMENT_EVENTS
from checkout_integration.policy.refunds import STATED
from checkout_integration.policy.state import OrderState, observe
from checkout_integration.policy.verdict import PENDING, Reason, Verdict, VerdictStatus, judge
from checkout_integration.protocol.vocabulary import OrderStatus

ITEM_COLUMNS: Final = ("position", "item_id", "sku", "name", "code", "platform")
BY_STAFF: Final = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)


def differences(order: Order) -> dict[str, tuple[Any, Any]]:
    """Return what the row of an order has, and what it should have, by column; {} if they are equal."""
    project = app_settings().project(order.project)
    # Before anything is computed: a new row of the order takes this one's place in its cache.
    personal_data = _personal_data(getattr(order, "personal_data", None))
    state, references = _added_up(project, order)
    checkout = _checkout_of(order, references)
    words = (checkout.description, checkout.products) if checkout else ()
    columns, personal = columns_of(state)
    refunds = list(order.refunds.all())
    documents = document_amounts(project, state)
    stated = stated_amounts(state, [row.status for row in refunds if row.document_id])
    expected = {
        **columns,
        "stamps": state.merged.stamps,
        "checkout": checkout,
        "product": as_column_text(product_of(state.order, *words)),
        "user": _user_of(order, state),
        "verdict": _verdict(project, order, state, checkout),
        "items": _items(item_rows(order, state)),
        "refunds": {**documents, **{(status, money[1]): money for (status, _), money in stated.items()}},
        "personal_data": _personal_data(personal_row(order, state, personal)),
        "history": state.status,
    }
    stored = {
        **{name: getattr(order, name) for name in columns},
        "stamps": stamps_from_json(order.stamps, state.merged.values),
        "checkout": order.checkout,
        "product": order.product,
        "user": order.user,
        "verdict": verdict_of(order),
        "items": _items(order.items.order_by("position")),
        "refunds": {
            row.key if row.document_id else (row.status, row.currency): (row.amount, row.currency)
            for row in refunds
            if not row.document_id or row.key in documents  # documents of chargebacks are in their rows alone
        },
        "personal_data": personal_data,
        "history": _end_of_history(order),
    }
    return {name: (stored[name], expected[name]) for name in expected if stored[name] != expected[name]}


def all_differences() -> dict[str, dict[str, tuple[Any, Any]]]:
    """Return what differs of every order, by its id; {} if nothing does."""
    found = {order.order_id: differences(order) for order in Order.objects.all()}
    return {order_id: columns for order_id, columns in found.items() if columns}


def _added_up(project: Project, order: Order) -> tuple[OrderState, set[str]]:
    """Return the state that the order's evidence adds up to, and the references of checkouts that its documents have."""
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    stored = state_of(order)
    state, documents = without_notifications(stored), [stored.order]
    about = Notification.objects.about_orders(order.project, [order.order_id])
    for row in about.filter(state=Notification.State.APPLIED, event__in=PAYMENT_EVENTS):
        step = read(row, datetime.now(UTC)).step
        assert step is not None, "a notification that was applied cannot be read"
        state = observe(state, step.observation, timing)
        documents.append(step.observation.order)
    return state, {reference_of(document, project.reference_key) for document in documents} - {""}


def without_notifications(state: OrderState) -> OrderState:
    """Return the state without what only notifications say; conflicts with a value of the list that lost are not stored."""
    of_notifications, listed = f"/{Source.NOTIFICATION}", slot_key(OrderStatus.REFUNDED, Source.LIST)
    slots = {key: slot for key, slot in state.facts.slots.items() if not key.endswith(of_notifications)}
    refunds = {
        place: sums for place, sums in state.facts.refunds.items() if listed in slots or place != STATED
    }
    stamps = {
        name: stamp for name, stamp in state.merged.stamps.items() if stamp.source != Source.NOTIFICATION
    }
    values = {name: value for name, value in state.merged.values.items() if name in stamps}
    conflicts = state.merged.conflicts if slots or values else frozenset[str]()
    merged = Merged(values=values, stamps=stamps, conflicts=conflicts)
    return OrderState(facts=replace(state.facts, slots=slots, refunds=refunds), merged=merged)


def _checkout_of(order: Order, references: set[str]) -> Checkout | None:
    """Return the checkout that the order names by its id or a reference; the stored one if staff have bound it."""
    if order.transitions.filter(act=Transition.Act.BIND).exists():
        return order.checkout
    checkouts = Checkout.objects.filter(project=order.project)
    by_id = checkouts.filter(order_id=order.order_id).first()
    return by_id or checkouts.filter(reference__in=references).first()


def _user_of(order: Order, state: OrderState) -> CheckoutUser | None:
    identity = identity_of(state.order.user)
    return CheckoutUser.objects.filter(project=order.project, identity=identity).first() if identity else None


def _verdict(project: Project, order: Order, state: OrderState, checkout: Checkout | None) -> Verdict:
    """Return the verdict by the rules; staff have accepted what they restored, if it stands as accepted by them."""
    acts = set(order.transitions.values_list("act", flat=True))
    restored = Transition.Act.RESTORE in acts and verdict_of(order) == BY_STAFF
    before = BY_STAFF if restored or Transition.Act.ACCEPT in acts else PENDING
    terms = terms_of(project, None if checkout else installed_at(project))
    return judge(state, checkout.value if checkout else None, terms, before=before)


def _items(items: Iterable[OrderItem]) -> list[list[object]]:
    return [[getattr(item, column) for column in ITEM_COLUMNS] for item in items]


def _personal_data(row: PersonalData | None) -> tuple[Mapping[str, Any], str, str] | None:
    return (row.document, row.email, row.last4) if row else None


def _end_of_history(order: Order) -> str:
    """Return the status to which the transitions lead, each from where the one before it ended."""
    status = ""
    for transition in order.transitions.order_by("pk"):
        if transition.from_status == transition.to_status:
            continue  # an act that left the status as it was
        if transition.from_status != status:
            break
        status = transition.to_status
    return status
