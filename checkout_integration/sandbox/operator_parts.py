"""The parts of the operator's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.order import Order
from checkout_integration.sandbox.outgoing import Delivery
from checkout_integration.sandbox.pages import fill, joined
from checkout_integration.sandbox.project import SandboxProject
from checkout_integration.sandbox.renewals import is_renewable
from checkout_integration.sandbox.run_log import Entry

_COLUMNS: Final = ("Order", "Made", "For", "Amount", "Status", "Told", "Do")
_LONGEST_TEXT: Final = 60
TONES: Final = {OrderStatus.PROCESSED: "good", OrderStatus.CREATED: "open", OrderStatus.PENDING: "open"}
_BUTTONS: Final = {
    OrderStatus.CREATED: ["pay", "decline", "cancel", "expire"],
    OrderStatus.PROCESSED: ["refund", "chargeback", "cancel"],
}


def project_part(project: SandboxProject) -> Markup:
    """Return a project in short; its secret is never shown."""
    return fill(
        "project",
        project_id=project.project_id,
        webhook_url=project.webhook_url or "nowhere",
        live="live" if project.live else "test",
        mode=project.mode.replace("_", "-"),
    )


def orders_part(count: int, rows: Sequence[tuple[Order, Sequence[Delivery]]]) -> Markup:
    """Return the table of the newest orders with their messages and buttons."""
    if not rows:
        return Markup(
            '<p class="soft">No orders yet. Make one with POST /api/v1/order, or buy in the shop.</p>'
        )
    return fill(
        "orders",
        head=joined([Markup("<th>{}</th>").format(name) for name in _COLUMNS]),
        rows=joined([_row(order, deliveries) for order, deliveries in rows]),
        note=f"The newest {len(rows)} of {count}.",
    )


def _row(order: Order, deliveries: Sequence[Delivery]) -> Markup:
    return fill(
        "order_row",
        name=_name(order),
        made=order.created_at.strftime("%d %b %H:%M:%S"),
        text=_shortened(order.description),
        amount=display_money(order.amount, order.currency),
        tone=TONES.get(order.status, "bad"),
        status=order.status,
        told=told_part(deliveries),
        buttons=buttons_part(order, deliveries),
    )


def _name(order: Order) -> Markup:
    if order.reversal:
        return Markup('<code>{}</code><br><span class="soft">list item</span>').format(order.id[:8])
    return Markup('<a href="/_sandbox/operator/orders/{}"><code>{}</code></a>').format(order.id, order.id[:8])


def _actions(order: Order, deliveries: Sequence[Delivery]) -> list[str]:
    if order.reversal:
        return []
    actions = [*_BUTTONS.get(order.status, [])]
    if is_renewable(order):
        actions.append("renew")
    return actions + (["resend"] if deliveries else [])


def buttons_part(order: Order, deliveries: Sequence[Delivery], then: str = "") -> Markup:
    """Return a button for each thing that can be done with the order now; `then` "order" leads to the order's own page."""
    return joined([_button(order.id, action, then) for action in _actions(order, deliveries)])


def told_part(deliveries: Sequence[Delivery]) -> Markup:
    """Return a line for each message of the order."""
    return joined([_told(delivery) for delivery in deliveries])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _button(order_id: str, action: str, then: str) -> Markup:
    return fill("button", order_id=order_id, action=action, then=then, label=action.capitalize())


def _told(delivery: Delivery) -> Markup:
    text = f"{delivery.event}: {delivery.state}"
    if delivery.answer is not None:
        text += f" ({delivery.answer or 'no answer'}, try {delivery.delivery_try})"
    return Markup("<div>{}</div>").format(text)


def log_part(entries: Sequence[Entry]) -> Markup:
    """Return the exchanges, each to be opened for its bodies."""
    if not entries:
        return Markup('<p class="soft">Nothing was asked or sent yet.</p>')
    return joined([_exchange(entry) for entry in entries])


def _exchange(entry: Entry) -> Markup:
    bodies = [Markup("<pre>{}</pre>").format(text) for text in (entry.request, entry.answer) if text]
    return fill(
        "exchange",
        time=entry.at[11:19],
        direction="→ merchant" if entry.direction == "out" else "← request",
        method=entry.method,
        url=entry.url,
        tone="good" if 200 <= entry.status < 400 else "bad",
        status=entry.status or "no answer",
        note=entry.note,
        number=entry.number,
        bodies=joined(bodies),
    )
