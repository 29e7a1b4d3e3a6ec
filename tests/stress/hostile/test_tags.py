"""Naughty strings through the template tags: escaped where they stand, and nothing of them runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from checkout_integration.flows import IssuedToken
from checkout_integration.models import Checkout
from checkout_integration.protocol.form import form_address, safe_address
from checkout_integration.testing.factories import CheckoutFactory
from tests.stress.hostile.naughty import HARMLESS, all_strings
from tests.stress.hostile.test_rest import as_read
from tests.support.rendered_page import Element, Page, render

SERVICE = "https://service.invalid"
TAGS = (
    "checkout_link checkout text text",
    "checkout_frame checkout title=text css_class=text",
    "checkout_page checkout target=text",
    "checkout_token_page issued target=text",
)


@pytest.fixture
def strings() -> list[str]:
    """All of them as they reach a page: what the package reads has no NUL and no half pair. An empty one says nothing."""
    return [text for text in map(as_read, all_strings()) if text]


def show(tag: str, text: str, settings: Any) -> Page:
    """Render a page with one tag, with this text in every foreign value."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "CLIENT_SCRIPT_URL": f"{SERVICE}/client.js",
        "CLIENT_CLASS": "BrandClient",
    }
    checkout: Checkout = CheckoutFactory.build(order_id=text, payment_form_url=address_with(text))
    issued = IssuedToken(checkout=checkout, token=text, payment_form_url=checkout.payment_form_url)
    return render(tag, checkout=checkout, issued=issued, text=text, nonce=text)


def address_with(text: str) -> str:
    """An address of the service in which the text stands as it is; one that may not stand there is none to link."""
    return f"{SERVICE}/form?{text}"


def outline(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """Elements and the names of their attributes."""
    return [(each.tag, tuple(each.attributes)) for each in page.elements]


def values(elements: list[Element], name: str) -> set[str | None]:
    """What an attribute says, wherever it stands."""
    return {each.attributes[name] for each in elements if name in each.attributes}


@pytest.mark.parametrize("tag", TAGS)
def test_every_string_stays_a_value(strings: list[str], settings: Any, tag: str) -> None:
    """The same elements with the same attributes as with a harmless string, and in them the string itself."""
    harmless = {
        linked: outline(show(tag, text, settings)) for linked, text in ((True, HARMLESS), (False, "\n"))
    }
    for text in strings:
        page = show(tag, text, settings)
        address = safe_address(address_with(text))
        assert outline(page) == harmless[bool(address)], text
        assert values(page.elements, "href") | values(page.elements, "src") <= {
            address,
            f"{SERVICE}/client.js",
        }
        for name in ("title", "class"):
            named = values([each for each in page.elements if each.tag in ("a", "iframe")], name)
            assert named <= {text}, text


@pytest.mark.parametrize("tag", TAGS[2:])
def test_every_string_reaches_the_script_as_json(strings: list[str], settings: Any, tag: str) -> None:
    """Beside the script, never in it: the script is the same for every string, except for the reference."""
    for text in strings:
        page = show(tag, text, settings)
        options, target = page.json
        assert target == text
        assert values(page.scripts, "nonce") == {text}
        if "token" in options:
            assert options == {"token": text}
        else:
            assert set(options) == {"formUrl"}
            assert dict(parse_qsl(urlsplit(options["formUrl"]).query)) == {"order_id": text}
        started = page.scripts[1].text
        assert started.count("document.getElementById(id)") == 1
        assert len(text) < 8 or text not in started


def test_every_string_is_one_order_id_in_an_address(strings: list[str]) -> None:
    """Whatever an order is called, the address leads to the form and says nothing else."""
    for text in strings:
        parts = urlsplit(form_address(f"{SERVICE}/form/", text))
        assert (parts.scheme, parts.netloc, parts.path) == ("https", "service.invalid", "/form/")
        assert parse_qsl(parts.query, keep_blank_values=True) == [("order_id", text)]
        assert parts.fragment == ""


def test_every_string_as_an_address_is_linked_only_where_it_is_one(strings: list[str]) -> None:
    """And only by HTTPS."""
    for text in strings:
        assert safe_address(text) in ("", text)
        assert not safe_address(text) or text.lower().startswith("https://")
