"""``{% load checkout %}``: the five ways of showing the form, and what hostile values make of them: text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template

from checkout_integration.flows import IssuedToken
from checkout_integration.models import Checkout
from checkout_integration.testing.factories import CheckoutFactory
from tests.templatetags.page import render

FORM = "https://service.invalid/form/?order_id=order-1"
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
UNSAFE_ADDRESSES = [
    "",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "//evil.example/",
    "/form",
    "http://service.invalid/form",
    "https://user:word@service.invalid/",
    "https://service.invalid\\@evil.example/",
    "https:",
    "https://service.invalid:no/",
    "https://[::1/",
]


class LazyNonce:
    """As Django's middleware gives it: false until it is read."""

    read = False

    def __bool__(self) -> bool:
        return self.read

    def __str__(self) -> str:
        self.read = True
        return "n0nce"


@pytest.fixture(autouse=True)
def _client_script(settings: Any) -> None:
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "CLIENT_SCRIPT_URL": "https://service.invalid/client.js",
        "CLIENT_CLASS": "BrandClient",
    }


def make_sale(**changes: Any) -> Checkout:
    """A sale with a form; it is not stored."""
    sale: Checkout = CheckoutFactory.build(**{"order_id": "order-1", "payment_form_url": FORM, **changes})
    return sale


def make_token(token: str = "tok-1", **changes: Any) -> IssuedToken:
    """A sale with a payment token; it is not stored."""
    sale = make_sale(order_id="", **changes)
    return IssuedToken(checkout=sale, token=token, payment_form_url=sale.payment_form_url)


class TestLink:
    """``{% checkout_link %}``."""

    @pytest.mark.spec("EP6-01")
    def test_it_opens_the_form_in_a_new_window(self) -> None:
        """The address is the one that the service gave."""
        link = render("checkout_link sale 'Buy now' css_class='button'", sale=make_sale()).one("a")
        assert link.attributes == {"href": FORM, "target": "_blank", "rel": "noopener", "class": "button"}
        assert link.text == "Buy now"

    @pytest.mark.spec("EP6-01")
    def test_it_takes_what_create_token_returned(self) -> None:
        """A token comes with a form of its own."""
        assert render("checkout_link sale", sale=make_token()).one("a").attributes["href"] == FORM

    @pytest.mark.parametrize("address", UNSAFE_ADDRESSES)
    @pytest.mark.parametrize("tag", ["checkout_link sale", "checkout_frame sale", "checkout_page sale"])
    def test_an_unsafe_address_is_never_linked(self, tag: str, address: str) -> None:
        """It is neither a link nor the source of a frame; the page says that there is no form."""
        page = render(tag, sale=make_sale(payment_form_url=address))
        assert page.all("a") == page.all("iframe") == []
        assert "no payment form" in page.one("span").text

    def test_plain_http_is_for_this_machine_only(self, settings: Any) -> None:
        """And only where the setting allows it."""
        sale = make_sale(payment_form_url="http://127.0.0.1:8001/form/?order_id=1")
        assert render("checkout_link sale", sale=sale).one("a").attributes["href"] == sale.payment_form_url
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ALLOW_HTTP_LOOPBACK": False}
        assert render("checkout_link sale", sale=sale).all("a") == []

    def test_what_is_written_in_it_stays_text(self) -> None:
        """Also where the shop's template has switched escaping off."""
        sale = make_sale(payment_form_url=f"https://service.invalid/?{HOSTILE.replace(' ', '+')}")
        source = "{% load checkout %}{% autoescape off %}{% checkout_link sale text css %}{% endautoescape %}"
        html = Template(source).render(Context({"sale": sale, "text": HOSTILE, "css": HOSTILE}))
        assert html.count("<") == html.count("<a") + html.count("<span") + html.count("</")
        assert "<script" not in html and "<img" not in html


class TestFrame:
    """``{% checkout_frame %}``."""

    @pytest.mark.spec("EP6-02")
    def test_its_source_is_the_form(self) -> None:
        """With a title for screen readers and no more rights than the form needs."""
        frame = render("checkout_frame sale title='Pay here' height=1200", sale=make_sale()).one("iframe")
        sandbox = frame.attributes.pop("sandbox")
        assert sandbox is not None and set(sandbox.split()) == {
            "allow-forms",
            "allow-scripts",
            "allow-same-origin",
            "allow-popups",
            "allow-popups-to-escape-sandbox",
            "allow-top-navigation-by-user-activation",
        }
        assert frame.attributes == {
            "src": FORM,
            "title": "Pay here",
            "allow": "payment",
            "width": "100%",
            "height": "1200",
        }

    def test_a_link_to_a_new_window_stands_below(self) -> None:
        """For whom the frame does not work."""
        link = render("checkout_frame sale", sale=make_sale()).one("a")
        assert (link.attributes["href"], link.attributes["target"]) == (FORM, "_blank")

    def test_its_height_is_a_plain_number_in_every_language(self, settings: Any) -> None:
        """``1,200`` would be one pixel."""
        settings.USE_THOUSAND_SEPARATOR = True
        frame = render("checkout_frame sale height=1200", sale=make_sale()).one("iframe")
        assert frame.attributes["height"] == "1200"

    def test_a_hostile_title_stays_text(self) -> None:
        """It may name what a stranger sells."""
        page = render("checkout_frame sale title=title", sale=make_sale(), title=HOSTILE)
        assert page.one("iframe").attributes["title"] == HOSTILE
        assert page.all("script") == page.all("img") == []


class TestPage:
    """``{% checkout_page %}``."""

    @pytest.mark.spec("EP6-03")
    def test_the_object_gets_the_address_of_the_form_and_renders_the_page(self) -> None:
        """Its one option is formUrl; class and script are those of the settings."""
        page = render("checkout_page sale", sale=make_sale())
        loaded, started = page.scripts
        assert page.json == [{"formUrl": "https://service.invalid/form/?order_id=order-1"}]
        assert loaded.attributes == {"src": "https://service.invalid/client.js"}
        assert "new BrandClient(read(" in started.text and "client.renderPage();" in started.text

    def test_the_options_are_found_by_the_script(self) -> None:
        """Each sale has its own, so that a page may show two."""
        sale = make_sale()
        page = render("checkout_page sale", sale=sale)
        data = next(each for each in page.all("script") if each.attributes.get("type"))
        assert data.attributes["id"] == f"checkout-options-{sale.reference}"
        assert f'read("{_escaped(data.attributes["id"])}")' in page.scripts[1].text

    def test_a_target_may_give_way_instead_of_the_body(self) -> None:
        """The selector reaches the script as JSON beside it."""
        page = render("checkout_page sale target='#pay'", sale=make_sale())
        assert page.json[1] == "#pay"
        assert "client.renderPage(read(" in page.scripts[1].text

    def test_a_link_stays_where_the_script_does_not_load(self) -> None:
        """The form takes its place only once it runs."""
        assert render("checkout_page sale", sale=make_sale()).one("a").attributes["href"] == FORM

    def test_a_hostile_order_id_and_target_stay_values(self) -> None:
        """Neither ends the script nor becomes an address of another kind."""
        page = render("checkout_page sale target=target", sale=make_sale(order_id=HOSTILE), target=HOSTILE)
        assert len(page.scripts) == 2 and page.all("img") == []
        assert page.json[0]["formUrl"].startswith("https://service.invalid/form/?order_id=%3C%2Fscript%3E")
        assert page.json[1] == HOSTILE

    def test_the_nonce_of_the_request_is_on_each_script(self) -> None:
        """Django's is false until it is read."""
        page = render("checkout_page sale", sale=make_sale(), nonce=LazyNonce())
        assert [each.attributes["nonce"] for each in page.scripts] == ["n0nce", "n0nce"]

    def test_a_given_nonce_wins(self) -> None:
        """For a shop with a policy of its own making."""
        page = render("checkout_page sale nonce='own'", sale=make_sale(), nonce="n0nce")
        assert {each.attributes["nonce"] for each in page.scripts} == {"own"}

    def test_without_a_policy_there_is_no_nonce(self) -> None:
        """No empty attribute either."""
        assert all(
            "nonce" not in each.attributes for each in render("checkout_page sale", sale=make_sale()).scripts
        )

    @pytest.mark.parametrize(
        ("name", "value"),
        [("CLIENT_SCRIPT_URL", ""), ("ORDER_FORM_URL", ""), ("CLIENT_CLASS", "Client(alert(1))//")],
    )
    def test_a_setting_that_is_missing_is_named(self, settings: Any, name: str, value: str) -> None:
        """The developer sees it at the first try."""
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, name: value}
        with pytest.raises(ImproperlyConfigured, match=name):
            render("checkout_page sale", sale=make_sale())

    def test_a_sale_without_an_order_has_no_page(self) -> None:
        """A form of no order would be an error of the service's."""
        with pytest.raises(ValueError, match="has no order"):
            render("checkout_page sale", sale=make_sale(order_id="", status=Checkout.Status.FAILED))


class TestTokenPage:
    """``{% checkout_token_page %}``."""

    @pytest.mark.spec("EP6-04")
    def test_the_token_is_the_single_option(self) -> None:
        """Nothing beside it."""
        page = render("checkout_token_page issued", issued=make_token())
        assert page.json == [{"token": "tok-1"}]
        assert "new BrandClient(read(" in page.scripts[1].text

    def test_a_hostile_token_stays_a_value(self) -> None:
        """It comes from the service, which is another party."""
        page = render("checkout_token_page issued", issued=make_token(HOSTILE))
        assert page.json == [{"token": HOSTILE}]
        assert len(page.scripts) == 2 and page.all("img") == []


def test_a_shop_overrides_the_templates(settings: Any, tmp_path: Path) -> None:
    """By a template of the same name in its own folder."""
    folder = tmp_path / "checkout_integration" / "display"
    folder.mkdir(parents=True)
    (folder / "link.html").write_text("<b>{{ text }}</b>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    assert render("checkout_link sale 'Mine'", sale=make_sale()).one("b").text == "Mine"


def _escaped(name: str | None) -> str:
    assert name is not None
    return name.replace("-", "\\u002D")
