"""869 ways to write an address: settings, documents and checkouts accept those that are safe and lead where they seem to."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from checkout_integration.admin.site.values import link
from checkout_integration.api.fields import AddressesField, AddressField
from checkout_integration.conf.problems import URLS
from checkout_integration.display import form_link
from checkout_integration.protocol.creation import (
    OrderRequest,
    TokenRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.protocol.form import safe_address
from checkout_integration.testing.factories import CheckoutFactory
from tests.stress.hostile.url_cases import LOOPBACK, Case, cases
from tests.support.conf.written_settings import found, with_shared
from tests.support.rendered_page import Page


@pytest.fixture(scope="module")
def written() -> list[Case]:
    """All cases: 869, of which 273 must fail."""
    every = cases()
    assert len(every) > 869
    return every


def host_of(address: str) -> str:
    """The host as Python reads it, which our code and the HTTP library follow; "" for none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_safe(case: Case, *, loopback: bool = False) -> bool:
    """Whether a browser goes by HTTPS where Python sees it going; by HTTP to this machine, where ``loopback`` allows it."""
    host = host_of(case.address)
    schemes = ("https", "http") if loopback and host in LOOPBACK else ("https",)
    return case.leads_to(host, *schemes)


@pytest.mark.parametrize("loopback", [False, True])
def test_what_may_be_linked_leads_where_it_seems_to(written: list[Case], loopback: bool) -> None:
    """By HTTPS, with no name and password, and to the very host; it stays as it was written."""
    linked = [case for case in written if safe_address(case.address, loopback=loopback)]
    assert [case for case in linked if not is_safe(case, loopback=loopback)] == []
    assert {safe_address(case.address, loopback=loopback) for case in linked} == {
        case.address for case in linked
    }
    assert len(linked) > 80


def test_addresses_of_documents_are_links_only_where_they_are_safe(written: list[Case]) -> None:
    """In the admin and in the customer's REST interface, images and receipts alike."""
    addresses = [case.address for case in written]
    safe = {case.address for case in written if is_safe(case)}
    local = {case.address for case in written if is_safe(case, loopback=True)}
    assert {href for address in addresses for href in hrefs(str(link(address)))} <= safe
    assert set(AddressesField().to_representation(addresses)) <= local
    fields = [AddressField(source="url") for _ in addresses]
    for field in fields:
        field.bind("receipt_url", None)  # type: ignore[arg-type]
    cases = zip(fields, addresses, strict=True)
    given = {field.get_attribute(type("Row", (), {"url": address})()) for field, address in cases}
    assert given - {None} <= local


def hrefs(html: str) -> list[str]:
    """The addresses of the links in a piece of a page."""
    page = Page()
    page.feed(f"<p>{html}</p>")
    return [each.attributes["href"] or "" for each in page.all("a")]


def test_the_form_of_a_checkout_is_linked_only_where_it_is_safe(written: list[Case]) -> None:
    """Whatever the service answered as ``payment_form_url``."""
    local = {case.address for case in written if is_safe(case, loopback=True)}
    checkouts = [CheckoutFactory.build(payment_form_url=case.address) for case in written]
    assert {form_link(checkout) for checkout in checkouts} - {""} <= local


@pytest.mark.parametrize("name", [*URLS, "RETURN_URL"])
def test_a_setting_takes_an_address_or_tells_what_to_do(written: list[Case], name: str) -> None:
    """The message names the setting, the hint the correction; accepted addresses lead where they seem to."""
    schemes = ("https", "http") if name == "RETURN_URL" else ("https",)
    for case in written:
        problems = found(with_shared(**{name: case.address}))
        if problems:
            assert all(name in each.message and f"Set {name} to" in each.hint for each in problems)
        elif case.address:
            assert case.leads_to(host_of(case.address), *schemes), case


@pytest.mark.parametrize("name", ["url_success", "url_fail"])
def test_a_checkout_sends_back_only_where_it_seems_to(written: list[Case], name: str) -> None:
    """Return addresses are the shop's own pages, which may be plain HTTP; all else but "", which is none, is never sent."""
    for case in filter(lambda case: case.address, written):
        if sends(OrderRequest(project="p", type="product", products=["1"], **{name: case.address})):  # type: ignore[arg-type]
            assert case.leads_to(host_of(case.address), "https", "http"), case
        token: Any = {f"return_{name}": case.address}
        if sends(TokenRequest(project_id="p", type="product", products_ids=["1"], **token)):
            assert case.leads_to(host_of(case.address), "https", "http"), case


def sends(request: OrderRequest | TokenRequest) -> bool:
    """Whether the request would be sent, with its return address."""
    try:
        if isinstance(request, OrderRequest):
            build_order_document(request)
        else:
            build_token_document(request)
    except CreationError:
        return False
    return True
