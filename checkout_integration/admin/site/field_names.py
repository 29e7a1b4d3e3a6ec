"""Names of columns as staff read them. A screen may have a heading of its own for a column.

Not verbose names of the models: those would be a part of each migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIELD_NAMES: Final[Mapping[str, StrOrPromise]] = {
    "account": _("account"),
    "address": _("address"),
    "amount": _("amount"),
    "attempt": _("attempt"),
    "attempts": _("attempts"),
    "body": _("body"),
    "checkout": _("checkout"),
    "code": _("code"),
    "created_at": _("created"),
    "customer": _("customer"),
    "decided_at": _("decided"),
    "decided_by": _("decided by"),
    "description": _("description"),
    "detail": _("detail"),
    "document": _("document"),
    "document_id": _("id of the document"),
    "due_at": _("due"),
    "email": _("e-mail"),
    "erased_at": _("erased"),
    "event": _("event"),
    "failed_at": _("failed"),
    "failure": _("failure"),
    "finished_at": _("finished"),
    "ip": _("IP address"),
    "kind": _("kind"),
    "lane": _("lane"),
    "live": _("live"),
    "locale": _("language and region"),
    "metadata": _("metadata"),
    "name": _("name"),
    "notification": _("notification"),
    "notify_new_region": _("wants news of new regions"),
    "notify_new_region_email": _("e-mail for news of new regions"),
    "order": _("order"),
    "order_id": _("order id"),
    "paid_at": _("paid"),
    "phone": _("phone"),
    "platform_id": _("platform"),
    "project": _("project"),
    "reason": _("reason"),
    "receipt_number": _("receipt number"),
    "received_at": _("received"),
    "receiver": _("receiver"),
    "recorded_at": _("recorded"),
    "reference": _("reference"),
    "refunded_at": _("refunded"),
    "resolved_at": _("resolved"),
    "resolved_by": _("resolved by"),
    "signal": _("signal"),
    "started_at": _("started"),
    "state": _("state"),
    "status": _("status"),
    "transaction": _("transaction"),
    "type": _("type"),
    "verdict": _("verdict"),
}
