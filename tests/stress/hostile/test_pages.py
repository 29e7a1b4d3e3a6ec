"""Naughty strings on every page: text, never an element, an attribute or an address that runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.template import Context, Template
from django.test import Client

from checkout_integration.flows.checkout.return_page import signed_reference
from checkout_integration.models import Checkout, Notification, Order
from checkout_integration.testing.factories import CheckoutFactory
from tests.stress.hostile.door import Door, nothing_broke
from tests.stress.hostile.naughty import HARMLESS, all_strings, as_body, in_turn, notification, repeat
from tests.stress.hostile.shapes import Shape, added, shape_of
from tests.support.admin.screens import SCREENS
from tests.support.scale import times

pytestmark = pytest.mark.django_db(transaction=True)
ADMIN = "/admin/checkout_integration"
ADDRESS = "https://receipts.example/1"
ORDERS = 8
"""An order has about 75 texts: so many orders hold every string once, in one field each."""


def send_orders(text: Any) -> list[Order]:
    """Deliver orders with one of these in every text; each is bound to a checkout."""
    door, made = Door(), []
    for _ in range(ORDERS):
        document = notification(text)
        assert door.send(as_body(document, escaped=True)) == 200
    nothing_broke()
    for order in Order.objects.order_by("-pk")[:ORDERS]:
        checkout = CheckoutFactory(description=text()[:255], failure=text()[:255], payment_form_url=text())
        Order.objects.filter(pk=order.pk).update(checkout=checkout)
        made.append(Order.objects.get(pk=order.pk))
    return made


def page(client: Client, address: str) -> str:
    """A page that must be there."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def list_shapes(client: Client) -> dict[str, Shape]:
    """The shapes of all screens' lists."""
    return {screen: shape_of(page(client, f"{ADMIN}/{screen}/")) for screen in SCREENS}


def details(client: Client, orders: list[Order]) -> list[str]:
    """The pages of orders, and for one of them those of what belongs to it."""
    notification = Notification.objects.get(object_id=orders[0].order_id)
    rows: list[tuple[str, Any]] = [("order", order.pk) for order in orders]
    rows += [("checkout", orders[0].checkout_id), ("checkoutuser", orders[0].user_id)]
    rows += [("notification", notification.pk), ("incident", orders[0].incidents.all()[0].pk)]
    return [page(client, f"{ADMIN}/{name}/{key}/change/") for name, key in rows]


def test_pages_of_the_admin_and_of_the_shop_show_text(admin_client: Client) -> None:
    """Detail pages, the return page and the template tags, compared with those of a harmless word and of an address."""
    expected = shop = ""
    for text in (HARMLESS, ADDRESS):
        harmless = send_orders(repeat(text))
        expected += "".join(details(admin_client, harmless))
        shop += shop_pages(admin_client, harmless[0])
    for turn in range(times(1, 75)):
        orders = send_orders(in_turn(all_strings(), start=turn))
        for html in details(admin_client, orders):
            assert added(html, expected) == []
        assert added(shop_pages(admin_client, orders[0]), shop) == []


def test_lists_of_the_admin_show_text(admin_client: Client) -> None:
    """What stands on the list of a screen with naughty rows is what stands on that with harmless ones."""
    send_orders(
        in_turn([HARMLESS, HARMLESS * 30, f"{HARMLESS}." * 30])
    )  # long words are shortened, or may be broken
    before = list_shapes(admin_client)
    send_orders(in_turn(all_strings()))
    for screen, shape in list_shapes(admin_client).items():
        assert set(shape.elements) <= set(before[screen].elements), screen
        assert shape.dangerous == []


def shop_pages(client: Client, order: Order) -> str:
    """What a customer sees: the return page, and the tags in a shop's template."""
    checkout = Checkout.objects.get(orders=order)
    source = (
        "{% load checkout %}{% checkout_link checkout text css %}{% checkout_frame checkout title=text %}"
    )
    tags = Template(source).render(
        Context({"checkout": checkout, "text": order.description, "css": checkout.failure})
    )
    return page(client, f"/checkout/return/{signed_reference(checkout.reference)}/") + tags


def test_searches_and_filters_find_nothing_and_break_nothing(admin_client: Client) -> None:
    """Whatever is typed into a box or an address: a page without a new element, or a bad request."""
    strings = [text for text in all_strings() if text][:: times(25, 1)]
    for number, text in enumerate(each.encode("utf-8", "surrogatepass") for each in ["a\x00b", *strings]):
        screen = SCREENS[number % len(SCREENS)]
        plain = page(admin_client, f"{ADMIN}/{screen}/?q={HARMLESS}")
        for query in ({"q": text}, {"status": text}, {"project": text, "created_at__gte": text}):
            answer = admin_client.get(f"{ADMIN}/{screen}/", query, follow=True)
            assert answer.status_code in {200, 400}, (screen, query)
            assert shape_of(answer.content.decode()).dangerous == []
            assert "script" not in {name for name, *_ in new_elements(answer.content.decode(), plain)}


def new_elements(html: str, plain: str) -> set[tuple[str, ...]]:
    """Elements that the plain page has nowhere."""
    return set(shape_of(html).elements) - set(shape_of(plain).elements)


def test_json_stays_json() -> None:
    """JSON in a script element cannot end the element."""
    for text in all_strings():
        shown = Template("{{ text|json_script:'x' }}").render(Context({"text": text}))
        assert shown.count("<") == 2
        assert json.loads(shown.split(">", 1)[1].rsplit("<", 1)[0]) == text
