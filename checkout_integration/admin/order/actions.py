"""The actions of the list of orders: check several with the service, run their failing receivers again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import dispatch, flows
from checkout_integration.admin.order.buttons import CHECK
from checkout_integration.admin.order.receivers import RUN, retry_runs
from checkout_integration.admin.site import (
    ORDER_STATUSES,
    VERDICTS,
    ButtonAdmin,
    ConfirmForm,
    Refused,
    Table,
    Value,
    badge,
    label_of,
    money,
    unknown_project,
    visible,
)
from checkout_integration.conf import UnknownAlias
from checkout_integration.models import Order, ReceiverRun

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MOST_AT_ONCE: Final = 50
"""The most orders that one action takes: as many as a page lists."""
LONGEST: Final = 20.0
"""Seconds after which an action begins with no further order; servers mostly end a request after thirty or sixty."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """An action of the list.

    Attributes:
        code: its name in the form of the list.
        label: its name as staff read it.
        question: the text of the confirmation page.
        detail: the heading of the column that says what would be done.
        of_orders: what would be done with each of these orders, by its key; those without anything to do are left out.
        act: does it with one order; returns what changed, "" if nothing did, or raises `Refused` to stop.

    """

    code: str
    label: StrOrPromise
    question: StrOrPromise
    detail: StrOrPromise
    of_orders: Callable[[Sequence[Order]], dict[int, Value]]
    act: Callable[[Order, AbstractBaseUser], StrOrPromise]


def _run_act(
    act: Act, admin: ButtonAdmin, request: HttpRequest, selected: QuerySet[Order]
) -> HttpResponse | None:
    orders = list(selected.order_by("pk")[: MOST_AT_ONCE + 1])
    if len(orders) > MOST_AT_ONCE:
        text = _("Nothing was done: you selected more than %(most)d orders. Select at most %(most)d at once.")
        messages.error(request, text % {"most": MOST_AT_ONCE})
        return None
    details = act.of_orders(orders)
    orders = [order for order in orders if order.pk in details]
    if not orders:
        messages.warning(request, _("Nothing changed: there is nothing to do for the selected orders."))
        return None
    if "confirmed" not in request.POST:
        return _confirm(act, admin, request, orders, details)
    _carry_out(act, admin, request, orders)
    return None


def _carry_out(act: Act, admin: ButtonAdmin, request: HttpRequest, orders: Sequence[Order]) -> None:
    """Act on one order after the other, each in its own transaction, until the time is up; the first failure stops.

    What was done is said in any case: a server in front of this one may end a request that lasts too long.
    """
    assert isinstance(request.user, AbstractBaseUser)
    begun = time.monotonic()
    for done, order in enumerate(orders):
        if done and time.monotonic() - begun >= LONGEST:
            text = _("The time is up, so the others were left as they were. Select them again.")
            messages.warning(request, f"{text} {_done(done, orders)}")
            break
        try:
            changed = act.act(order, request.user)
            admin.log_change(request, order, str(act.label))
        except Refused as refused:
            messages.error(request, f"{_about(order, str(refused))} {_done(done, orders)}")
            break
        except UnknownAlias as error:
            messages.error(request, f"{_about(order, unknown_project(error.args[0]))} {_done(done, orders)}")
            break
        except DatabaseError as error:
            # Without its message, which may have values of rows.
            text = _("the database failed (%(error)s).") % {"error": type(error).__name__}
            messages.error(request, f"{_about(order, text)} {_done(done, orders)}")
            return
        messages.success(request, _about(order, changed or _("Nothing changed.")))
    dispatch.dispatch_due()


def _done(done: int, orders: Sequence[Order]) -> str:
    return _("%(done)d of %(all)d orders were done.") % {"done": done, "all": len(orders)}


def _about(order: Order, text: StrOrPromise) -> str:
    return _("Order %(order)s: %(text)s") % {"order": visible(order.order_id), "text": text}


def _confirm(
    act: Act,
    admin: ButtonAdmin,
    request: HttpRequest,
    orders: Sequence[Order],
    details: dict[int, Value],
) -> HttpResponse:
    columns = [_("order"), _("status"), _("amount"), _("verdict"), act.detail]
    rows: list[list[Value]] = [
        [
            visible(order.order_id),
            badge(label_of(ORDER_STATUSES, order.status)),
            money(order.amount, order.currency),
            badge(label_of(VERDICTS, order.verdict)),
            details[order.pk],
        ]
        for order in orders
    ]
    heading = _("Selected orders: %(n)d") % {"n": len(orders)}
    hidden = [("action", act.code), ("confirmed", "yes")]
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": heading,
        "heading": heading,
        "media": admin.media,
        "button": {"label": act.label, "question": act.question},
        "form": ConfirmForm(),
        "back": request.get_full_path(),
        "tables": [Table(_("Orders"), columns, rows)],
        "hidden": hidden + [(ACTION_CHECKBOX_NAME, str(order.pk)) for order in orders],
    }
    return TemplateResponse(request, "admin/checkout_integration/confirm.html", context)


def _failing_runs(orders: Sequence[Order]) -> QuerySet[ReceiverRun]:
    """Return the runs that have failed, and were given up or wait for their next attempt."""
    runs = flows.operations.retryable_runs(orders).exclude(state=ReceiverRun.State.SUPERSEDED)
    return runs.filter(attempts__gt=0).select_related("message__grant")


def _failing(orders: Sequence[Order]) -> dict[int, Value]:
    receivers: dict[int, list[str]] = {}
    for run in _failing_runs(orders):
        assert run.message.payer_id is not None  # it was found by its order
        receivers.setdefault(run.message.payer_id, []).append(visible(run.receiver))
    return {order: ", ".join(names) for order, names in receivers.items()}


def _retry(order: Order, staff: AbstractBaseUser) -> StrOrPromise:
    return retry_runs(_failing_runs([order]), staff)


CHECK_SELECTED: Final = Act(
    code="check_selected",
    label=gettext_lazy("Check the selected orders with the service now"),
    question=gettext_lazy(
        "Each order is fetched from the service, and its current state is applied as usual."
    ),
    detail=gettext_lazy("project"),
    of_orders=lambda orders: {order.pk: visible(order.project) for order in orders},
    act=lambda order, staff: str(CHECK.act(order, staff, "")),
)
RUN_SELECTED: Final = Act(
    code="run_selected",
    label=gettext_lazy("Run the failing receivers of the selected orders again"),
    question=RUN.question,
    detail=gettext_lazy("receivers"),
    of_orders=_failing,
    act=_retry,
)


def check_selected(
    admin: ButtonAdmin, request: HttpRequest, selected: QuerySet[Order]
) -> HttpResponse | None:
    """Fetch the selected orders from the service, after a confirmation that lists them."""
    return _run_act(CHECK_SELECTED, admin, request, selected)


def run_selected(admin: ButtonAdmin, request: HttpRequest, selected: QuerySet[Order]) -> HttpResponse | None:
    """Run the failing receivers of the selected orders, after a confirmation that lists them."""
    return _run_act(RUN_SELECTED, admin, request, selected)


for _function, _act, _permission in (
    (check_selected, CHECK_SELECTED, "check"),
    (run_selected, RUN_SELECTED, "run"),
):
    _function.short_description = _act.label  # type: ignore[attr-defined]
    _function.allowed_permissions = (_permission,)  # type: ignore[attr-defined]
