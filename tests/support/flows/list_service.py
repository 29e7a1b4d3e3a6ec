"""A service whose transaction list has just the rows of a test: filtered by status and time, oldest first, page by page."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from checkout_integration.flows.sync import DriftReport, drift_report, sync_transactions
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.values import parse_moment
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderDocumentFactory
from tests.support.client.stub import Received, http, running
from tests.support.flows.shop import notification

HOUR_AGO = datetime.now(UTC) - timedelta(hours=1)


@dataclass
class ListService:
    """A service of rows that a test changes.

    Attributes:
        rows: its list.
        uncounted: how many more rows it counts than it gives.
        ahead: by how much its clock is ahead of ours.
        cap: the largest page it gives.
        pages: how many pages were read.
        before_page: called with the query of each page before it is sent.
        sent: the bytes that are sent instead of a page's JSON.

    """

    rows: list[Mapping[str, Any]] = field(default_factory=list)
    uncounted: int = 0
    ahead: timedelta = timedelta(0)
    cap: int = 1000
    pages: int = 0
    before_page: Callable[[Mapping[str, list[str]]], None] = lambda query: None
    sent: Callable[[bytes], bytes] = lambda body: body

    def answer(self, connection: socket.socket, request: Received) -> None:
        """Send the requested page."""
        query = parse_qs(urlsplit(request.target).query)
        self.before_page(query)
        found = self.found(query)
        offset, limit = (
            int(query.get(name, [default])[0]) for name, default in (("offset", "0"), ("limit", "100"))
        )
        items = self.shown(found[offset : offset + min(limit, self.cap)])
        body = self.sent(strict_json.dumps({"count": len(found) + self.uncounted, "items": items}).encode())
        self.pages += 1
        date = format_datetime(datetime.now(UTC) + self.ahead, usegmt=True)
        connection.sendall(http(200, body, Date=date, Connection="close"))

    def found(self, query: Mapping[str, list[str]]) -> list[Mapping[str, Any]]:
        """Return the rows that match the query."""
        return [row for row in self.rows if _matches(row, query)]

    def shown(self, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the rows of a page as they are sent."""
        return rows


def _matches(row: Mapping[str, Any], query: Mapping[str, list[str]]) -> bool:
    created_at = parse_moment(row.get("created_at"))
    begin, end = (parse_moment(query.get(f"project_date_{name}", [""])[0]) for name in ("from", "to"))
    statuses = query.get("status[]", [])
    return (
        (not statuses or row.get("status") in statuses)
        and (begin is None or created_at is None or created_at >= begin)
        and (end is None or created_at is None or created_at <= end)
        and query.get("id", [row.get("id")]) == [row.get("id")]
        and query.get("invoice_id", [_reference(row)]) == [_reference(row)]
    )


def _reference(row: Mapping[str, Any]) -> str:
    """Return the shop's reference, which is in the metadata of the order."""
    reference: str = (row.get("metadata") or {}).get("checkout_reference", "")
    return reference


@contextmanager
def list_service(settings: Any, *rows: Mapping[str, Any]) -> Iterator[ListService]:
    """Let the app read this list."""
    service = ListService(rows=list(rows))
    with serving(settings, service):
        yield service


@contextmanager
def serving(settings: Any, service: ListService) -> Iterator[None]:
    """Let the app read the list of this service."""
    with running(service.answer) as stub:
        urls = dict.fromkeys(("BASE_URL", "CHECKOUT_URL", "LIST_URL"), stub.url)
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **urls, "ALLOW_HTTP_LOOPBACK": True}
        yield


def listed(order_id: str, minutes: int = 0, **changes: Any) -> dict[str, Any]:
    """A row of the list, created so many minutes after the first one."""
    created_at = (HOUR_AGO + timedelta(minutes=minutes)).isoformat()
    row: dict[str, Any] = ListedOrderDocumentFactory(
        id=order_id, transaction=f"t-{order_id}", created_at=created_at, **changes
    )
    return row


def document(order_id: str, of: str, minutes: int = 30, **changes: Any) -> dict[str, Any]:
    """A refund that is a row of its own."""
    row = listed(order_id, minutes, status="refunded", **changes)
    return {**row, "transaction": f"t-{of}", "refunded_at": row["created_at"]}


def signed(deliver: Deliver, row: dict[str, Any], event: str = "payment.success", **changes: Any) -> None:
    """Deliver a notification about the order of a row, an hour ago."""
    order = OrderDocumentFactory(**{**row, "user": {**row["user"], "id": "player"}, **changes})
    assert deliver(notification(event, order, at=HOUR_AGO)).status_code == 200


def report(lane: str = "recent") -> DriftReport:
    """Read the list and return what differed."""
    run = sync_transactions(lane=lane)
    assert run.state == "complete"
    return drift_report(run)


def found(report: DriftReport) -> set[tuple[str, str, str, str, str]]:
    """The differences of a pass, each as kind, order, here, there and state."""
    rows = {(each.kind, each.order_id, each.here, each.there, each.state) for each in report.differences}
    assert len(rows) == len(report.differences)
    return rows
