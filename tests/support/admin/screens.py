"""The screens by name, with a row for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import admin
from django.db.models import Model

from checkout_integration.admin.site.buttons import Button, ButtonAdmin
from checkout_integration.models import CheckoutUser, Order, StaffAct
from tests.support.admin import rows


def _customer() -> CheckoutUser:
    order = rows.make_order()
    customer = rows.make_customer(f"player-of-{order.order_id}")
    type(order).objects.filter(pk=order.pk).update(user=customer)
    return customer


def _order() -> Model:
    order = rows.make_order(
        checkout=rows.make_checkout(), user=rows.make_customer(f"player-{rows.next_number()}")
    )
    rows.make_history(order)
    rows.make_refund(order)
    return order


_MAKERS: dict[str, Callable[[], Model]] = {
    "outboxmessage": lambda: rows.make_run(rows.make_order(checkout=rows.make_checkout())).message,
    "checkout": lambda: rows.make_order(checkout=rows.make_checkout()).checkout or rows.make_checkout(),
    "checkoutuser": _customer,
    "staffact": lambda: StaffAct.objects.create(
        project="default", act="export", origin="admin", customer=_customer(), reason="request 4711"
    ),
    "receiverrun": lambda: rows.make_run(rows.make_order()),
    "incident": lambda: rows.make_incident(rows.make_order()),
    "notification": lambda: rows.make_notification(rows.make_order().order_id),
    "order": _order,
    "refund": lambda: rows.make_refund(rows.make_order()),
    "syncrun": rows.make_sync_run,
    "validationdecision": lambda: rows.make_decision(user=_customer()),
}
SCREENS = sorted(_MAKERS)


def make_row(screen: str) -> Model:
    """A new row of a screen, with what belongs to it."""
    return _MAKERS[screen]()


def order_buttons() -> Sequence[Button]:
    """The buttons of an order's page."""
    screen = admin.site._registry[Order]
    assert isinstance(screen, ButtonAdmin)
    return screen.buttons


def page_address(screen: str, row: Model | None) -> str:
    """The address of a row's page."""
    assert row is not None
    return f"/admin/checkout_integration/{screen}/{row.pk}/change/"
