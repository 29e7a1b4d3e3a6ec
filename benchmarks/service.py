"""The service's transaction list, on this machine: `python -m benchmarks.service FILE-DESCRIPTOR`.

The first two parts of the path say which list: `/10000/0` has 10,000 paid orders, in `/10000/10` each tenth of them has been
refunded. Rows are made from a template and pages are remembered, so the list costs little beside those who read it.
"""

from __future__ import annotations

import asyncio
import gzip
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from functools import cache, lru_cache
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from benchmarks.stub import response, serve
from checkout_integration.conf.project import Project
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.vocabulary import OrderStatus, OrderType
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderItemDocumentFactory

PRODUCTS: Final = ("golden-sword", "leather-shield")
LATEST: Final = datetime(2025, 1, 1, tzinfo=UTC)
APART: Final = timedelta(days=1) / 1_000
"""A shop with a thousand orders a day, until then."""
LIMIT: Final = 100
REMEMBERED: Final = 40_000
SPREAD: Final = 0x9E3779B97F4A7C15
"""An odd number: its multiples modulo 2**64 are all different, and as spread as the service's random identifiers."""


@dataclass(frozen=True)
class Orders:
    """The orders of a shop, numbered by their age from 0, the oldest; each so-manieth is refunded, none if that is 0."""

    count: int
    refunded: int = 0

    def created_at(self, number: int) -> datetime:
        """Return when an order was created."""
        return LATEST - (self.count - number) * APART

    def created_between(self, begin: datetime | None, end: datetime | None) -> range:
        """Return the numbers of the orders that were created in a period, both ends included; the newest first."""
        oldest = self.created_at(0)
        first = max(math.ceil((begin - oldest) / APART), 0) if begin else 0
        last = min(math.floor((end - oldest) / APART), self.count - 1) if end else self.count - 1
        return range(last, first - 1, -1)

    def row(self, number: int) -> bytes:
        """Return an order as the list gives it."""
        spread = number * SPREAD % 2**64
        return _template(bool(self.refunded) and number % self.refunded == 0) % {
            b"order": b"%08x-%04x-4000-8000-%012d" % (spread >> 32, spread & 0xFFFF, number),
            b"reference": reference_of(number).encode(),
            b"customer": b"player-%d" % number,
            b"created": self.created_at(number).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode(),
        }


def reference_of(number: int) -> str:
    """Return the reference of the checkout that an order pays for."""
    return f"{number * SPREAD % 2**64:016x}{number:016x}"


def items() -> list[dict[str, Any]]:
    """Return the items of an order, as the service shows them."""
    return [
        OrderItemDocumentFactory(
            id=product,
            name=product.replace("-", " ").title(),
            description=f"A {product.replace('-', ' ')} that was made by hand in the mountains of the north",
            images=[
                f"https://cdn.shop.example.com/images/{product}-{size}.png" for size in ("small", "large")
            ],
            metadata={"rarity": "epic", "level": "12"},
        )
        for product in PRODUCTS
    ]


@cache
def _template(refunded: bool) -> bytes:
    """Return an order of two items as JSON, to be filled in by `%`."""
    document = ListedOrderDocumentFactory(
        id="%(order)b",
        transaction="%(order)b",
        created_at="%(created)b",
        status=OrderStatus.REFUNDED if refunded else OrderStatus.PROCESSED,
        refunded_at=LATEST.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if refunded else "",
        receipt_number="RECEIPT-%(order)b",
        receipt_id="%(order)b",
        type=OrderType.PRODUCT,
        items=items(),
        is_production=True,
        user__external_id="%(customer)b",
        metadata={Project.reference_key: "%(reference)b", "campaign": "autumn", "cart": "%(order)b"},
    )
    return strict_json.dumps(document).encode()


@lru_cache(REMEMBERED)
def page(path: str) -> bytes:
    """Return the page of an address, compressed."""
    parts = urlsplit(path)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    count, refunded = map(int, parts.path.split("/")[1:3])
    orders = Orders(count, refunded)
    period = [_moment(query.get(f"project_date_{end}")) for end in ("from", "to")]
    found = orders.created_between(*period)
    offset = int(query.get("offset", 0))
    rows = map(orders.row, found[offset : offset + int(query.get("limit", LIMIT))])
    body = b'{"count":%d,"items":[%b]}' % (len(found), b",".join(rows))
    return gzip.compress(body, compresslevel=1)


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def response_to(path: str) -> bytes:
    """Return the response to a GET: a page, at the present time."""
    return response(page(path), "Content-Encoding: gzip", f"Date: {formatdate(usegmt=True)}")


if __name__ == "__main__":
    asyncio.run(serve(response_to))
