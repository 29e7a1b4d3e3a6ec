"""docs/shop-pages.md: its views, addresses and questions, as they are written."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path, reverse

from checkout_integration.flows import run_due
from checkout_integration.flows.checkout import signed_reference
from checkout_integration.models import Checkout, ReceiverRun
from checkout_integration.sandbox import Fault, FaultKind, FaultPoint, Sandbox
from checkout_integration.signals import RetryLater, checkout_paid
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from checkout_integration.views.returning import return_link
from checkout_integration.views.selling import SellMixin
from tests.support.documents import ROOT, block, template
from tests.support.flows.shop import Listening
from tests.urls import urlpatterns as others

pytestmark = pytest.mark.django_db
PAGE = (ROOT / "docs" / "shop-pages.md").read_text(encoding="utf-8")


TOTAL = Decimal("9.99")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> dict[str, ModuleType]:
    """The modules of the page, in a package of that name, with its addresses."""
    models = ModuleType("shop.models")
    vars(models)["Basket"] = Group  # the shop's own object: any model will do
    monkeypatch.setattr(Group, "total", TOTAL, raising=False)
    made = {"shop": ModuleType("shop"), "shop.models": models}
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name, text in {
        "shop.buying": block("docs/shop-pages.md", "# shop/buying.py"),
        "shop.urls": block("docs/shop-pages.md", "# shop/urls.py"),
        "shop.owning": block("docs/shop-pages.md", "# shop/owning.py"),
        "shop.claiming": block("docs/shop-pages.md", "# shop/claiming.py"),
        "shop.guests": block("docs/shop-pages.md", "# shop/guests.py"),
        "shop.purchases": block("docs/shop-pages.md", "# shop/purchases.py"),
        "shop.mine": block("docs/shop-pages.md", "# shop/mine.py"),
    }.items():
        made[name] = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, made[name])
        exec(compile(text, name, "exec"), vars(made[name]))
    addresses = ModuleType("addresses")
    pages = [
        each
        for name in ("shop.urls", "shop.claiming", "shop.purchases")
        for each in vars(made[name])["urlpatterns"]
    ]
    vars(addresses)["urlpatterns"] = [
        *pages,
        path("hat/", vars(made["shop.guests"])["BuyHat"].as_view()),
        path("inventory/", lambda request: HttpResponse(), name="inventory"),
        *others,
    ]
    templates = {
        name: template("docs/shop-pages.md", name) for name in ("shop/thanks.html", "shop/claim.html")
    }
    locmem = ("django.template.loaders.locmem.Loader", templates)
    app_directories = "django.template.loaders.app_directories.Loader"
    engine: Any = settings.TEMPLATES[0]
    options = {**engine["OPTIONS"], "loaders": [locmem, app_directories]}
    settings.ROOT_URLCONF = addresses
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": options}]
    return made


@pytest.fixture
def listen() -> Iterator[Listening]:
    """Connect receivers for the length of a test."""
    listening = Listening()
    yield listening
    listening.end()


@pytest.fixture
def ada(client: Client) -> User:
    """An account that is logged in."""
    account = User.objects.create_user("ada")
    client.force_login(account)
    return account


def test_the_view_sells(
    client: Client, ada: User, checkout_sandbox: Sandbox, shop: dict[str, ModuleType]
) -> None:
    """By POST, at the price of the basket."""
    basket = Group.objects.create(name="hats")
    response = client.post(f"/buy/{basket.pk}/")
    checkout = Checkout.objects.get()
    assert (response["Location"], checkout.user) == (checkout.payment_form_url, ada)
    assert checkout.expected_amount == TOTAL


def test_a_guest_buys(client: Client, checkout_sandbox: Sandbox, shop: dict[str, ModuleType]) -> None:
    """By POST, without a session, with a key of the page once; where the service is away, a page says so."""
    forms = [client.post("/hat/", {"once": "k2VtW0a9"})["Location"] for _ in range(2)]
    checkout = Checkout.objects.get()
    assert (forms, checkout.user) == ([checkout.payment_form_url] * 2, None)
    assert client.post("/hat/", {"once": "another"})["Location"] != forms[0]
    checkout_sandbox.faults.add(Fault(point=FaultPoint.API, kind=FaultKind.SERVER_ERROR))
    assert client.post("/hat/").status_code == 503


def test_a_guest_adds_a_purchase_to_an_account(client: Client, shop: dict[str, ModuleType]) -> None:
    """From the return page by its link, over the login, by POST, once."""
    checkout = CheckoutFactory(description="A hat")
    OrderFactory(checkout=checkout)
    thanks = client.get(return_link(checkout, "thanks")).content.decode()
    (address,) = re.findall(r'href="(/add/[^"]+)"', thanks)
    assert client.get(address).status_code == 302
    ada = User.objects.create_user("ada")
    client.force_login(ada)
    assert "A hat" in client.get(address).content.decode()
    assert client.post(address)["Location"] == "/inventory/"
    assert list(Checkout.objects.owned_by(ada)) == [checkout]
    assert client.post(address)["Location"] == "/inventory/", "a second press, or an open tab"
    client.force_login(User.objects.create_user("ben"))
    assert (client.get(address).status_code, client.post(address).status_code) == (404, 404)
    assert Checkout.objects.get().owner == ada
    client.force_login(ada)
    assert "/add/" not in client.get(return_link(checkout, "thanks")).content.decode()


def test_what_waited_for_the_claim_runs_with_it(
    client: Client, ada: User, settings: Any, shop: dict[str, ModuleType], listen: Listening
) -> None:
    """Also where web processes run what is due: no other notification need come. What was refunded asks nothing."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RUNNER": "request",
        "REQUEST_BUDGET": 10,
    }

    def wait(checkout: Checkout, **arguments: Any) -> None:
        if checkout.owner is None:
            raise RetryLater(3600, "not claimed yet")

    listen(checkout_paid, wait)
    checkout = CheckoutFactory(description="A hat")
    OrderFactory(checkout=checkout)
    run_due()
    thanks = client.get(return_link(checkout, "thanks")).content.decode()
    (address,) = re.findall(r'href="(/add/[^"]+)"', thanks)
    client.post(address)
    assert ReceiverRun.objects.get().state == "done"
    other = CheckoutFactory(description="A scarf")
    OrderFactory(checkout=other, status="refunded")
    assert client.get(reverse("add-to-account", args=[signed_reference(other.reference)])).status_code == 404


def test_the_page_of_purchases(
    client: Client, ada: User, rf: RequestFactory, shop: dict[str, ModuleType]
) -> None:
    """As it is, and as a view of the shop's own, which names recipients."""
    ben = User.objects.create_user("ben")
    OrderFactory(checkout=CheckoutFactory(user=ada, description="500 gems", recipient=ben, gift=True))
    page = client.get("/purchases/").content.decode()
    assert "500 gems" in page and "A gift for somebody else" in page
    request = rf.get("/")
    request.user = ada
    response = vars(shop["shop.mine"])["Mine"].as_view()(request)
    (purchase,) = response.context_data["purchases"]
    assert (purchase.title, purchase.recipient) == ("500 gems", "ben")


def test_the_return_page_is_found(client: Client, shop: dict[str, ModuleType]) -> None:
    """Its address has the signed reference; a forged one is not found."""
    checkout = CheckoutFactory()
    found = vars(shop["shop.buying"])["Thanks"]()
    found.kwargs = {"signed": signed_reference(checkout.reference)}
    assert found.checkout == checkout
    assert client.get("/thanks/forged/").status_code == 404


def test_who_owns_what(ada: User, shop: dict[str, ModuleType]) -> None:
    """The three questions of the page."""
    owning: dict[str, Any] = vars(shop["shop.owning"])
    basket = Group.objects.create(name="hats")
    assert not owning["may_enter"](ada) and not owning["is_paid"](ada, basket) and not owning["keys_of"](ada)
    for terms in (
        {"type": "product", "products": ["season-pass"]},
        {"type": "key", "products": ["quest"]},
        {"subject": basket},
    ):
        checkout = CheckoutFactory(user=ada, **terms)
        OrderFactory(checkout=checkout, id=checkout.order_id)
    assert owning["may_enter"](ada) and owning["is_paid"](ada, basket)
    assert owning["keys_of"](ada) == [Checkout.objects.get(type="key").reference]


def test_the_page_names_what_there_is(client: Client) -> None:
    """Methods of the mixin, variables of the template, functions and handlers of the module."""
    signed = signed_reference(CheckoutFactory().reference)
    response = client.get(reverse("checkout_integration:return", args=[signed]))
    context = vars(response)["context_data"]
    methods = {name for name in vars(SellMixin) if name.startswith("get_")} | {
        "create",
        "created",
        "not_created",
    }
    module = (ROOT / "checkout_integration/static/checkout_integration/checkout.js").read_text()
    functions = set(re.findall(r"^export function (\w+)", module, re.MULTILINE))
    handlers = set(re.findall(r"\[(on\w+)\]", module))
    for name in {*context, *methods, *functions, *handlers} - {"view", "signed"}:
        assert f"`{name}" in PAGE, name
