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
from tests.support.rendered_page import render

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


def make_checkout(**changes: Any) -> Checkout:
    """A checkout with a form; it is not stored."""
    checkout: Checkout = CheckoutFactory.build(**{"order_id": "order-1", "payment_form_url": FORM, **changes})
    return checkout


def make_token(token: str = "tok-1", **changes: Any) -> IssuedToken:
    """A checkout with a payment token; it is not stored."""
    checkout = make_checkout(order_id="", **changes)
    return IssuedToken(checkout=checkout, token=token, payment_form_url=checkout.payment_form_url)


class TestLink:
    """``{% checkout_link %}``."""

    @pytest.mark.spec("EP6-01", "SVC-02")
    def test_it_opens_the_form_in_a_new_window(self) -> None:
        """The address is the one that the service gave."""
        link = render("checkout_link checkout 'Buy now' css_class='button'", checkout=make_checkout()).one(
            "a"
        )
        assert link.attributes == {"href": FORM, "target": "_blank", "rel": "noopener", "class": "button"}
        assert link.text == "Buy now"

    @pytest.mark.spec("EP6-01", "SVC-02")
    def test_it_takes_what_create_token_returned(self) -> None:
        """A token comes with a form of its own."""
        assert render("checkout_link checkout", checkout=make_token()).one("a").attributes["href"] == FORM

    @pytest.mark.spec("AUT-01", "SVC-05")
    @pytest.mark.parametrize("address", UNSAFE_ADDRESSES)
    @pytest.mark.parametrize(
        "tag", ["checkout_link checkout", "checkout_frame checkout", "checkout_page checkout"]
    )
    def test_an_unsafe_address_is_never_linked(self, tag: str, address: str) -> None:
        """It is neither a link nor the source of a frame; the page says that there is no form."""
        page = render(tag, checkout=make_checkout(payment_form_url=address))
        assert page.all("a") == page.all("iframe") == []
        assert "no payment form" in page.one("span").text

    @pytest.mark.spec("AUT-01", "SVC-05")
    def test_plain_http_is_for_this_machine_only(self, settings: Any) -> None:
        """And only where the setting allows it."""
        checkout = make_checkout(payment_form_url="http://127.0.0.1:8001/form/?order_id=1")
        assert (
            render("checkout_link checkout", checkout=checkout).one("a").attributes["href"]
            == checkout.payment_form_url
        )
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ALLOW_HTTP_LOOPBACK": False}
        assert render("checkout_link checkout", checkout=checkout).all("a") == []

    def test_plain_http_to_a_named_host_is_for_development(self, settings: Any) -> None:
        """A container's name; without the setting, or with a real key and no DEBUG, there is no link."""
        checkout = make_checkout(payment_form_url="http://sandbox:8090/form/?order_id=1")
        assert render("checkout_link checkout", checkout=checkout).all("a") == []
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ALLOW_HTTP_HOSTS": ["sandbox"]}
        assert len(render("checkout_link checkout", checkout=checkout).all("a")) == 1

    def test_what_is_written_in_it_stays_text(self) -> None:
        """Also where the shop's template has switched escaping off."""
        checkout = make_checkout(payment_form_url=f"https://service.invalid/?{HOSTILE.replace(' ', '+')}")
        source = (
            "{% load checkout %}{% autoescape off %}{% checkout_link checkout text css %}{% endautoescape %}"
        )
        html = Template(source).render(Context({"checkout": checkout, "text": HOSTILE, "css": HOSTILE}))
        assert html.count("<") == html.count("<a") + html.count("<span") + html.count("</")
        assert "<script" not in html and "<img" not in html


class TestFrame:
    """``{% checkout_frame %}``."""

    @pytest.mark.spec("EP6-02")
    def test_its_source_is_the_form(self) -> None:
        """With a title for screen readers and no more rights than the form needs."""
        frame = render("checkout_frame checkout title='Pay here' height=1200", checkout=make_checkout()).one(
            "iframe"
        )
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
        link = render("checkout_frame checkout", checkout=make_checkout()).one("a")
        assert (link.attributes["href"], link.attributes["target"]) == (FORM, "_blank")

    def test_its_height_is_a_plain_number_in_every_language(self, settings: Any) -> None:
        """``1,200`` would be one pixel."""
        settings.USE_THOUSAND_SEPARATOR = True
        frame = render("checkout_frame checkout height=1200", checkout=make_checkout()).one("iframe")
        assert frame.attributes["height"] == "1200"

    def test_a_hostile_title_stays_text(self) -> None:
        """It may name what a stranger sells."""
        page = render("checkout_frame checkout title=title", checkout=make_checkout(), title=HOSTILE)
        assert page.one("iframe").attributes["title"] == HOSTILE
        assert page.all("script") == page.all("img") == []


class TestPage:
    """``{% checkout_page %}``."""

    @pytest.mark.spec("EP6-03")
    def test_the_object_gets_the_address_of_the_form_and_renders_the_page(self) -> None:
        """Its one option is formUrl; class and script are those of the settings."""
        page = render("checkout_page checkout", checkout=make_checkout())
        loaded, started = page.scripts
        assert page.json == [{"formUrl": "https://service.invalid/form/?order_id=order-1"}]
        assert loaded.attributes == {"src": "https://service.invalid/client.js"}
        assert "new BrandClient(read(" in started.text and "client.renderPage();" in started.text

    @pytest.mark.spec("EP6-03")
    def test_two_shops_have_their_own_objects(self, settings: Any) -> None:
        """Another order, address of the form, script and class."""
        settings.CHECKOUT_INTEGRATION = {
            **settings.CHECKOUT_INTEGRATION,
            "ORDER_FORM_URL": "https://other.invalid/pay",
            "CLIENT_SCRIPT_URL": "https://other.invalid/sdk.js",
            "CLIENT_CLASS": "OtherClient",
        }
        page = render("checkout_page checkout", checkout=make_checkout(order_id="order-2"))
        loaded, started = page.scripts
        assert page.json == [{"formUrl": "https://other.invalid/pay/?order_id=order-2"}]
        assert loaded.attributes == {"src": "https://other.invalid/sdk.js"}
        assert "new OtherClient(read(" in started.text

    def test_the_options_are_found_by_the_script(self) -> None:
        """Each checkout has its own, so that a page may show two."""
        checkout = make_checkout()
        page = render("checkout_page checkout", checkout=checkout)
        data = next(each for each in page.all("script") if each.attributes.get("type"))
        assert data.attributes["id"] == f"checkout-options-{checkout.reference}"
        assert f'read("{_escaped(data.attributes["id"])}")' in page.scripts[1].text

    def test_a_target_may_give_way_instead_of_the_body(self) -> None:
        """The selector reaches the script as JSON beside it."""
        page = render("checkout_page checkout target='#pay'", checkout=make_checkout())
        assert page.json[1] == "#pay"
        assert "client.renderPage(read(" in page.scripts[1].text

    def test_a_link_stays_where_the_script_does_not_load(self) -> None:
        """The form takes its place only once it runs."""
        assert render("checkout_page checkout", checkout=make_checkout()).one("a").attributes["href"] == FORM

    def test_a_hostile_order_id_and_target_stay_values(self) -> None:
        """Neither ends the script nor becomes an address of another kind."""
        page = render(
            "checkout_page checkout target=target", checkout=make_checkout(order_id=HOSTILE), target=HOSTILE
        )
        assert len(page.scripts) == 2 and page.all("img") == []
        assert page.json[0]["formUrl"].startswith("https://service.invalid/form/?order_id=%3C%2Fscript%3E")
        assert page.json[1] == HOSTILE

    def test_the_nonce_of_the_request_is_on_each_script(self) -> None:
        """Django's is false until it is read."""
        page = render("checkout_page checkout", checkout=make_checkout(), nonce=LazyNonce())
        assert [each.attributes["nonce"] for each in page.scripts] == ["n0nce", "n0nce"]

    def test_a_given_nonce_wins(self) -> None:
        """For a shop with a policy of its own making."""
        page = render("checkout_page checkout nonce='own'", checkout=make_checkout(), nonce="n0nce")
        assert {each.attributes["nonce"] for each in page.scripts} == {"own"}

    def test_without_a_policy_there_is_no_nonce(self) -> None:
        """No empty attribute either."""
        assert all(
            "nonce" not in each.attributes
            for each in render("checkout_page checkout", checkout=make_checkout()).scripts
        )

    @pytest.mark.parametrize(
        ("name", "value"),
        [("CLIENT_SCRIPT_URL", ""), ("ORDER_FORM_URL", ""), ("CLIENT_CLASS", "Client(alert(1))//")],
    )
    def test_a_setting_that_is_missing_is_named(self, settings: Any, name: str, value: str) -> None:
        """The developer sees it at the first try."""
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, name: value}
        with pytest.raises(ImproperlyConfigured, match=name):
            render("checkout_page checkout", checkout=make_checkout())

    @pytest.mark.parametrize(
        ("name", "path"), [("CLIENT_SCRIPT_URL", "/client.js"), ("ORDER_FORM_URL", "/form")]
    )
    def test_a_missing_address_is_named_for_the_sandbox_too(
        self, settings: Any, name: str, path: str
    ) -> None:
        """Whoever tries the way with the sandbox has nowhere else to look."""
        settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, name: ""}
        with pytest.raises(ImproperlyConfigured, match=rf"{name}.*sandbox has it at {path}"):
            render("checkout_page checkout", checkout=make_checkout())

    @pytest.mark.spec("EP6-03")
    def test_a_checkout_without_an_order_has_no_page(self) -> None:
        """A form of no order would be an error of the service's."""
        with pytest.raises(ValueError, match="has no order"):
            render(
                "checkout_page checkout", checkout=make_checkout(order_id="", status=Checkout.Status.FAILED)
            )


class TestTokenPage:
    """``{% checkout_token_page %}``."""

    @pytest.mark.spec("EP6-04", "EP1-24", "TOK-01")
    def test_the_token_is_the_single_option(self) -> None:
        """Nothing beside it."""
        for token in ("Tok_1-x", "t" * 5_000):
            assert render("checkout_token_page issued", issued=make_token(token)).json == [{"token": token}]
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
    assert render("checkout_link checkout 'Mine'", checkout=make_checkout()).one("b").text == "Mine"


def _escaped(name: str | None) -> str:
    assert name is not None
    return name.replace("-", "\\u002D")
