"""All that is known of an order, in one ZIP file: for the answer to a chargeback, or for an accountant.

It has a page for people (``summary.html``), the data behind it as JSON and CSV, the bodies of the notifications byte by byte,
and the SHA-256 of each file. It contains personal data.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any, ClassVar, Final
from zipfile import ZIP_DEFLATED, ZipFile

from django.db.models import Model, QuerySet
from django.template.loader import render_to_string
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from checkout_integration.admin.order.page import order_page
from checkout_integration.admin.site.downloads import csv_text
from checkout_integration.admin.site.fields import Viewer
from checkout_integration.admin.site.values import NOTHING, Value, pretty, short, visible
from checkout_integration.models import Checkout, Grant, Notification, Order, OutboxMessage, ReceiverRun
from checkout_integration.models.columns import exact_column
from checkout_integration.signals import checkout_paid

NEWEST: Final = 200
"""Notifications, grants and receiver runs in the file; an order has a handful."""
IN_MEMORY: Final = 2**20
RECEIVED: Final = (
    *("notification_id", "event", "state", "live", "delivery_try", "receipts"),
    *("created_at", "received_at", "last_received_at", "body_hash"),
)
SOLD: Final = (
    *(
        "reference",
        "project",
        "type",
        "status",
        "test",
        "expected_amount",
        "currency",
        "description",
        "products",
    ),
    *("virtual_currency_amount", "platform_id", "metadata", "order_id", "recorded_at", "paid_at", "user_id"),
)


@dataclass(frozen=True)
class EvidenceReader(Viewer):
    """Who reads the file: a bank, outside the admin. It links no page of it, and has none of the staff's notes."""

    reads_notes: ClassVar[bool] = False

    def copyable(self, text: str, label: str) -> str | SafeString:
        """Return the whole text, which may be printed."""
        return visible(text, longest=len(text))

    def link(self, model: type[Model], primary_key: object, text: object) -> str | SafeString:
        """Return the text."""
        return NOTHING if primary_key is None else short(text)


def evidence_of(order: Order, viewer: Viewer) -> IO[bytes]:
    """Return the ZIP file of an order, to be read from its beginning. The viewer must be one who sees personal data."""
    file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  # the response closes it
    sums = []
    with ZipFile(file, "w", ZIP_DEFLATED) as pack:
        for name, content in _files(order, EvidenceReader(viewer.user, viewer.site_name)):
            pack.writestr(name, content)
            sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        pack.writestr("SHA256SUMS", "".join(sums))
    file.seek(0)
    return file


def _files(order: Order, reader: EvidenceReader) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files."""
    page = order_page(order, reader)
    context = {"page": page, "order": order, "made_at": datetime.now(UTC)}
    yield "summary.html", render_to_string("admin/checkout_integration/evidence.html", context).encode()
    yield "order.json", pretty(order.whole_document).encode()
    if order.checkout:
        yield "checkout.json", pretty(_sold(order.checkout)).encode()
    notifications = list(_notifications(order))
    yield "notifications.csv", csv_text([RECEIVED, *(_attributes(row, RECEIVED) for row in notifications)])
    for place, row in enumerate(notifications, 1):
        if row.body:  # none after pruning or erasing
            yield f"notifications/{place:03}.json", bytes(row.body)
    yield "timeline.csv", csv_text(_timeline(page.timeline))
    yield "receivers.csv", csv_text(_runs(order))
    yield "goods.csv", csv_text(_grants(order))


def _notifications(order: Order) -> Iterable[Notification]:
    """Return the newest notifications, the oldest of them first."""
    rows = Notification.objects.about_orders(order.project, [order.order_id])
    return reversed(rows.order_by("-received_at", "-pk")[:NEWEST])


def _sold(checkout: Checkout) -> dict[str, Any]:
    """Return what the shop had sold, before the service knew of it."""
    values = {name: exact_column(checkout, name) for name in SOLD}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()
    }


def _timeline(moments: Sequence[Any]) -> Iterator[Sequence[Any]]:
    yield "at", "source", "by", "what", "state", "details"
    for moment in moments:
        texts = (
            moment.source,
            moment.actor,
            moment.text,
            moment.badge,
            " | ".join(map(_plain, moment.details)),
        )
        yield moment.at, *map(_plain, texts)


def _runs_of(order: Order) -> QuerySet[ReceiverRun]:
    """Return the runs of its signals, and of the grants that it pays for, the newest first."""
    about = OutboxMessage.objects.about([order])
    return ReceiverRun.objects.filter(message__in=about).select_related("message").order_by("-pk")


def _runs(order: Order) -> Iterator[Sequence[Any]]:
    yield "signal", "signal_at", "receiver", "state", "attempts", "finished_at", "error"
    for run in reversed(_runs_of(order)[:NEWEST]):
        signal, at = run.message.signal, run.message.recorded_at
        yield signal, at, run.receiver, run.state, run.attempts, run.finished_at, run.error


def _grants(order: Order) -> Iterator[Sequence[Any]]:
    """Yield each grant of goods, with the receivers that completed: from when to when the customer had them."""
    yield "grant", "state", "opened_at", "closed_at", "receiver", "granted_at"
    done: dict[int, dict[str, datetime | None]] = {}
    runs = _runs_of(order).filter(message__signal=checkout_paid.name, state=ReceiverRun.State.DONE)
    for run in runs[:NEWEST]:
        done.setdefault(run.message.grant_id or 0, {})[run.receiver] = run.finished_at
    for grant in Grant.objects.filter(order=order).order_by("pk")[:NEWEST]:
        granted = dict.fromkeys(grant.completed) | done.get(grant.pk, {})
        for receiver, at in granted.items() or [("", None)]:
            yield grant.number, grant.state, grant.opened_at, grant.closed_at, receiver, at


def _attributes(row: Model, names: Sequence[str]) -> list[Any]:
    return [getattr(row, name) for name in names]


def _plain(value: Value) -> str:
    """Return HTML as text; other text as it is."""
    return html.unescape(strip_tags(value)) if isinstance(value, SafeString) else str(value)
