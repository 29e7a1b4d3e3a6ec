"""REST for game servers: what a customer owns, which goods wait, and that they were delivered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import UUIDField
from django.urls import reverse
from rest_framework.test import APIClient

from checkout_integration import flows
from checkout_integration.flows.checkout import owning
from checkout_integration.flows.ledger import identity_here
from checkout_integration.hooks import Hooks
from checkout_integration.models import Checkout, CheckoutUser, Grant, ReceiverRun
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.flows.conftest import listen
from tests.support.flows.shop import Listening

__all__ = ["listen"]
pytestmark = pytest.mark.django_db
TOKEN, OTHER = "token-of-game-servers-1", "token-of-other-servers-2"
CANARY = "canary@example.com"
Page = dict[str, Any]


class Players(Hooks):
    """A shop that gives its customers ids of their own."""

    def find_user(self, user: Any) -> Any:
        """Return the account whose name the id has."""
        return User.objects.filter(username=user.external_id.removeprefix("player:")).first()


@pytest.fixture(autouse=True)
def _two_projects(settings: Any) -> Iterator[None]:
    """Each has servers of its own, which fetch what is paid."""
    setting = settings.CHECKOUT_INTEGRATION
    settings.CHECKOUT_INTEGRATION = {
        **setting,
        "GOODS": "pull",
        "HOOKS": "checkout_integration.hooks.Hooks",
        "PROJECTS": {
            "default": {
                **setting["PROJECTS"]["default"],
                "OWNERSHIP_TOKENS": ["an-older-token-of-ours", TOKEN],
            },
            "eu": {
                "PROJECT_ID": "eu",
                "SECRET_KEY": "sandbox_secret_of_eu",
                "OWNERSHIP_TOKENS": [lambda: OTHER],
            },
        },
    }
    cache.clear()
    yield
    cache.clear()


def server(token: str = TOKEN) -> APIClient:
    """A game server with a token; an exception is a 500, as in production."""
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def owned(player: object, token: str = TOKEN, **more: str) -> list[str]:
    """The references of what a customer owns."""
    response = server(token).get(reverse("checkout_server:owned-list"), {"external_id": str(player), **more})
    assert response.status_code == 200, response.content
    return [each["reference"] for each in response.json()["data"]]


def waiting(player: object, token: str = TOKEN) -> list[Page]:
    """The goods of a customer that wait."""
    response = server(token).get(reverse("checkout_server:grant-list"), {"external_id": str(player)})
    assert response.status_code == 200, response.content
    found: list[Page] = response.json()["data"]
    return found


def acknowledge(key: str, token: str = TOKEN) -> Any:
    """Say that goods were delivered."""
    return server(token).post(reverse("checkout_server:grant-acknowledge", args=[key]))


def paid(user: User | None = None, external_id: str = "", **changes: Any) -> Checkout:
    """A checkout that was paid through the ledger."""
    if "products" in changes:
        changes["type"] = "product"
    named = str(user.pk) if user else external_id
    checkout: Checkout = CheckoutFactory(user=user, identity=identity_here(named), **changes)
    OrderFactory(checkout=checkout, user=UserDocumentFactory(external_id=named, email=CANARY))
    checkout.refresh_from_db()
    return checkout


def test_an_account_owns_what_it_has_paid(buyer: User, stranger: User) -> None:
    """By its primary key; nobody else does, and what is not paid is not owned."""
    hat, sword = paid(buyer, products=["hat"]), paid(buyer, products=["sword", "shield"])
    CheckoutFactory(user=buyer, products=["gem"])
    assert owned(buyer.pk) == [sword.reference, hat.reference]
    assert owned(stranger.pk) == owned("nobody") == []
    assert owned(buyer.pk, product="shield") == [sword.reference]
    assert owned(buyer.pk, product="gem") == owned(buyer.pk, product="shiel") == []


def test_an_id_of_the_shops_own_owns_without_an_account() -> None:
    """A game has players, and no accounts here."""
    checkout = paid(external_id="steam:17", products=["hat"])
    assert owned("steam:17", product="hat") == [checkout.reference]
    assert owned("steam:1") == []


def test_a_gift_is_the_recipients(buyer: User, stranger: User) -> None:
    """Whoever has paid for it does not own it."""
    gift = paid(buyer, gift=True, recipient=stranger)
    assert owned(buyer.pk) == [] and owned(stranger.pk) == [gift.reference]
    assert waiting(buyer.pk) == []
    assert [each["checkout"]["gift"] for each in waiting(stranger.pk)] == [True]


def test_a_gift_to_an_id_of_the_shops_own(buyer: User, stranger: User, settings: Any) -> None:
    """The hook says whose it is; a number among such ids is no key of an account."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HOOKS": f"{__name__}.Players"}
    gift = paid(external_id="player:else", gift=True, recipient=stranger)
    assert owned("player:stranger") == [gift.reference]
    assert owned(stranger.pk) == owned("player:else") == []


def test_a_guest_whom_staff_have_linked_owns(buyer: User) -> None:
    """The customer's row says which account it is."""
    bought = paid(buyer)
    CheckoutUser.objects.update(account=buyer)
    CheckoutUser.objects.create(
        project="default", identity=identity_here("player-9"), external_id="player-9", account=buyer
    )
    assert owned("player-9") == [bought.reference]


def test_what_is_refunded_is_not_owned(buyer: User, checkout_deliver: Deliver) -> None:
    """And its goods wait for nobody."""
    checkout = paid(buyer)
    assert len(waiting(buyer.pk)) == 1
    checkout_deliver(order=order_document_for(checkout, status="refunded"), event="payment.refund")
    flows.run_due()
    assert (owned(buyer.pk), waiting(buyer.pk)) == ([], [])


def test_what_was_sold_for_some_days_ends(buyer: User) -> None:
    """It is owned until they are over."""
    checkout = paid(buyer)
    for days, expected in ((1, [checkout.reference]), (-1, [])):
        Checkout.objects.update(owned_until=datetime.now(UTC) + timedelta(days=days))
        assert owned(buyer.pk) == expected


def test_nothing_of_another_project_is_seen(buyer: User) -> None:
    """Not even whether it is there."""
    ours = paid(buyer)
    grant = Grant.objects.get()
    assert (owned(buyer.pk, OTHER), waiting(buyer.pk, OTHER)) == ([], [])
    unknown = acknowledge("f" * 32, OTHER)
    assert (acknowledge(grant.key, OTHER).content, unknown.status_code) == (unknown.content, 404)
    Checkout.objects.filter(pk=ours.pk).update(project="eu")
    assert owned(buyer.pk) == []


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer sandbox_test_secret",
        "Bearer \xff\xfe",
    ],
)
def test_without_a_token_nothing_is_answered(header: str, buyer: User) -> None:
    """401 in the form of every error; a session is no token."""
    paid(buyer)
    client = APIClient(raise_request_exception=False)
    client.force_login(buyer)
    given: dict[str, Any] = {"HTTP_AUTHORIZATION": header} if header else {}
    for address in (reverse("checkout_server:owned-list"), reverse("checkout_server:grant-list")):
        response = client.get(address, {"external_id": str(buyer.pk)}, **given)
        assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
        assert set(response.json()) == {"code", "message", "details"}
    response = client.post(reverse("checkout_server:grant-acknowledge", args=["x"]), **given)
    assert response.status_code == 401


def test_a_token_that_cannot_be_read_is_none(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An empty one neither; the log names the setting, and no token. What may be right is told to ask again."""

    def broken() -> str:
        raise ConnectionError(f"vault {TOKEN}")

    setting = settings.CHECKOUT_INTEGRATION
    tokens = {"default": [broken], "eu": [lambda: "", lambda: "short"]}
    settings.CHECKOUT_INTEGRATION = {
        **setting,
        "PROJECTS": {
            name: {**own, "OWNERSHIP_TOKENS": tokens[name]} for name, own in setting["PROJECTS"].items()
        },
    }
    for token, expected in (("", 401), ("short", 401), (TOKEN, 503)):
        response = server(token).get(reverse("checkout_server:owned-list"), {"external_id": "1"})
        assert response.status_code == expected
    assert "OWNERSHIP_TOKENS cannot be read" in caplog.text and TOKEN not in caplog.text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "external_id=",
        "external_id=a&external_id=b",
        f"external_id={'x' * 256}",
        "external_id=%00",
        "external_id=a&product=",
        "external_id=a&limit=0",
        "external_id=a&starting_after=x",
    ],
)
def test_a_bad_question_is_refused(query: str) -> None:
    """By the name of the parameter."""
    response = server().get(f"{reverse('checkout_server:owned-list')}?{query}")
    assert (response.status_code, response.json()["code"]) == (400, "invalid")
    name = query.rpartition("&")[2].partition("=")[0] or "external_id"
    assert response.json()["details"].startswith(f"{name}: ")


def test_what_has_not_changed_is_not_sent_again(buyer: User) -> None:
    """304 for the ETag of the last answer, and 200 once something was bought."""
    address, query = reverse("checkout_server:owned-list"), {"external_id": str(buyer.pk)}
    paid(buyer)
    first = server().get(address, query)
    again = server().get(address, query, HTTP_IF_NONE_MATCH=first["ETag"])
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    paid(buyer)
    changed = server().get(address, query, HTTP_IF_NONE_MATCH=first["ETag"])
    assert changed.status_code == 200 and changed["ETag"] != first["ETag"]
    assert "private" in changed["Cache-Control"]


def test_lists_are_pages(buyer: User) -> None:
    """In the envelope of every list, by references and keys."""
    references = [paid(buyer).reference for _ in range(3)][::-1]
    address, query = reverse("checkout_server:owned-list"), {"external_id": str(buyer.pk), "limit": "2"}
    page = server().get(address, query).json()
    assert (page["object"], page["has_more"], page["total_count"]) == ("list", True, 3)
    rest = server().get(address, {**query, "starting_after": references[1]}).json()
    assert [each["reference"] for each in page["data"] + rest["data"]] == references
    keys = [each["key"] for each in waiting(buyer.pk)]
    after = server().get(
        reverse("checkout_server:grant-list"), {"external_id": str(buyer.pk), "starting_after": keys[0]}
    )
    assert [each["key"] for each in after.json()["data"]] == keys[1:]


def test_goods_wait_until_they_are_acknowledged(buyer: User) -> None:
    """Once: the second time the answer is the same, with the time of the first."""
    checkout = paid(buyer, products=["hat"])
    (grant,) = waiting(buyer.pk)
    assert (grant["checkout"]["reference"], grant["checkout"]["products"]) == (checkout.reference, ["hat"])
    assert (grant["state"], grant["acknowledged_at"]) == ("open", None)
    first, second = acknowledge(grant["key"]), acknowledge(grant["key"])
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json() and first.json()["acknowledged_at"] is not None
    assert waiting(buyer.pk) == [] and owned(buyer.pk) == [checkout.reference]


def test_what_was_reversed_is_not_acknowledged(buyer: User, checkout_deliver: Deliver) -> None:
    """409: do not deliver. One that was acknowledged before stays so."""
    early, late = paid(buyer), paid(buyer)
    keys = dict(Grant.objects.values_list("checkout__reference", "key"))
    assert acknowledge(keys[early.reference]).status_code == 200
    for checkout in (early, late):
        checkout_deliver(order=order_document_for(checkout, status="refunded"), event="payment.refund")
    flows.run_due()
    refused = acknowledge(keys[late.reference])
    assert (refused.status_code, refused.json()["code"]) == (409, "closed")
    assert acknowledge(keys[early.reference]).json()["state"] == "closed"
    assert Grant.objects.get(key=keys[late.reference]).acknowledged_at is None


@pytest.mark.parametrize("undoes", [[], ["game server"]])
@pytest.mark.parametrize("delivered", [True, False])
def test_goods_of_a_game_server_are_taken_back(
    undoes: list[str], delivered: bool, buyer: User, checkout_deliver: Deliver, listen: Listening
) -> None:
    """By a receiver of checkout_reversed, if a server has acknowledged them; a receiver beside it changes nothing."""
    taken: list[str] = []
    listen(checkout_paid, name="shop.receivers.thank")
    listen.connect(
        checkout_reversed,
        lambda grant, **kwargs: taken.append(grant.key),
        "shop.receivers.take",
        undoes=undoes or ["game server"],
    )
    checkout = paid(buyer)
    flows.run_due()
    (grant,) = waiting(buyer.pk)
    if delivered:
        acknowledge(grant["key"])
    checkout_deliver(order=order_document_for(checkout, status="refunded"), event="payment.refund")
    flows.run_due()
    assert taken == [grant["key"]] * delivered
    state = ReceiverRun.objects.get(receiver="shop.receivers.take").state
    assert state == ("done" if delivered else "superseded")


def test_goods_that_receivers_deliver_do_not_wait(buyer: User, settings: Any) -> None:
    """What was paid before the shop let servers fetch is not given again."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "GOODS": "receivers"}
    checkout = paid(buyer)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "GOODS": "pull"}
    assert waiting(buyer.pk) == [] and owned(buyer.pk) == [checkout.reference]
    assert acknowledge(Grant.objects.get().key).status_code == 404


def test_servers_have_a_rate_of_their_own(settings: Any) -> None:
    """Which a shop sets."""
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"checkout_server": "2/min"}}
    address = reverse("checkout_server:owned-list")
    statuses = [server().get(address, {"external_id": "1"}).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_nothing_personal_is_answered(buyer: User) -> None:
    """No address, no price, no form."""
    paid(buyer, metadata={"note": CANARY}, description=CANARY)
    for name in ("owned-list", "grant-list"):
        text = (
            server().get(reverse(f"checkout_server:{name}"), {"external_id": str(buyer.pk)}).content.decode()
        )
        assert CANARY not in text and "9.99" not in text and "service.example" not in text


def test_the_customer_sees_that_the_goods_are_there(buyer: User) -> None:
    """On the return page, once a server has acknowledged them."""
    from checkout_integration.flows.checkout import Goods, goods_of

    checkout = paid(buyer)
    assert goods_of(checkout) == Goods.GRANTING
    acknowledge(waiting(buyer.pk)[0]["key"])
    assert goods_of(checkout) == Goods.GRANTED


def test_staff_see_it(buyer: User, admin_client: Any, settings: Any) -> None:
    """That goods wait for a game server, and when they were acknowledged."""
    settings.ROOT_URLCONF = "tests.urls"
    paid(buyer)
    grant = Grant.objects.get()
    address = f"/admin/checkout_integration/order/{grant.order_id}/change/"
    assert "waits for a game server" in admin_client.get(address).content.decode()
    settings.ROOT_URLCONF = "tests.api.urls"
    acknowledge(grant.key)
    settings.ROOT_URLCONF = "tests.urls"
    page = admin_client.get(address).content.decode()
    assert "a game server – acknowledged" in page and "the goods were acknowledged as delivered" in page


@pytest.mark.parametrize("spell", [str, lambda key: key.hex, lambda key: str(key).upper()])
def test_a_uuid_is_the_same_in_any_spelling(spell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where accounts have UUIDs as keys: C# writes them in capitals or without hyphens, and silence would be a no."""
    accounts = SimpleNamespace(
        _meta=SimpleNamespace(pk=UUIDField())
    )  # the accounts of the tests have numbers
    monkeypatch.setattr(owning, "get_user_model", lambda: accounts)
    key = uuid4()
    checkout = paid(external_id=str(key))
    assert owned(spell(key)) == [checkout.reference]
    assert owned("not a UUID") == []
