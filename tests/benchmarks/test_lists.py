"""The lists that are read: each order or charge once, as the services give them."""

from __future__ import annotations

import gzip
import json
from typing import Any

from benchmarks import service, stub
from benchmarks.service import LATEST, Orders, reference_of
from checkout_integration.protocol.listing import TransactionPage, parse_transaction_page
from checkout_integration.protocol.values import format_moment

LIST = "/merchant/s2s/api/v1/order"


def page(path: str) -> TransactionPage:
    """Return the page of an address of the list."""
    head, _, body = service.response_to(path).partition(b"\r\n\r\n")
    assert b"Date: " in head
    return parse_transaction_page(gzip.decompress(body))


def test_the_list_gives_each_order_once() -> None:
    """The newest first, in pages of a hundred."""
    pages = [page(f"/250/0{LIST}?offset={offset}") for offset in (0, 100, 200, 300)]
    assert [len(each.rows) for each in pages] == [100, 100, 50, 0]
    assert {each.count for each in pages} == {250}
    assert len({name for each in pages for name in each.ids}) == 250
    times = [row.created_at for each in pages for row in each.rows]
    assert times == sorted(times, key=lambda time: time or LATEST, reverse=True)


def test_a_period_includes_both_its_ends() -> None:
    """From the hundredth order to the two-hundredth, and no other."""
    begin, end = (Orders(250).created_at(number) for number in (100, 200))
    period = f"project_date_from={format_moment(begin)}&project_date_to={format_moment(end)}"
    newest, oldest = (page(f"/250/0{LIST}?{period}&limit=10&offset={offset}") for offset in (0, 91))
    assert (newest.count, len(newest.rows)) == (101, 10)
    assert (newest.rows[0].created_at, oldest.rows[-1].created_at) == (end, begin)


def test_an_order_pays_for_its_checkout_until_it_is_refunded() -> None:
    """Each tenth is, in the list that says so; nothing else differs."""
    paid, refunded = (page(f"/20/{each}{LIST}").items for each in (0, 10))
    assert [(order.metadata or {})["checkout_reference"] for order in paid] == [
        reference_of(number) for number in reversed(range(20))
    ]
    assert len(set(map(reference_of, range(20)))) == 20
    assert {order.status for order in paid} == {"processed"}
    assert [number for number, order in enumerate(reversed(refunded)) if order.refund] == [0, 10]
    assert [order.id for order in paid] == [order.id for order in refunded]


def test_the_peers_list_gives_each_charge_once() -> None:
    """Page by page, each after the last charge of the page before; nothing else is listed."""
    ids: list[str] = []
    more = True
    while more:
        charges = listed(f"/250/v1/charges?starting_after={ids[-1]}" if ids else "/250/v1/charges")
        ids += [charge["id"] for charge in charges["data"]]
        more = charges["has_more"]
    assert ids == [f"ch_{number:024d}" for number in range(250)]
    assert listed("/250/v1/accounts")["data"] == listed("/v1/charges")["data"] == []


def listed(path: str) -> Any:
    """Return a response of the peer's service."""
    return json.loads(stub.response_to(path).partition(b"\r\n\r\n")[2])
