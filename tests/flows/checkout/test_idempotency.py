"""The same request twice, as by a double click: one checkout and one order at the service."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.checkout import creating
from checkout_integration.flows.checkout.idempotency import await_form
from checkout_integration.models import Checkout, Order
from checkout_integration.protocol.creation import Customer
from checkout_integration.protocol.creation_values import CreationError
from checkout_integration.sandbox import Sandbox
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.support.customer import PRIVACY_REQUEST
from tests.support.flows.concurrency import at_once, in_background, in_processes
from tests.support.flows.shop import fault

pytestmark = pytest.mark.django_db

PRICE: dict[str, Any] = {"amount": Decimal("9.99"), "currency": "USD"}
KEYED: dict[str, Any] = {**PRICE, "idempotency_key": "basket-7"}
LATER = timedelta(seconds=11)


@pytest.fixture
def ada() -> User:
    """An account."""
    return User.objects.create_user("ada")


def sell(account: User, **changes: Any) -> Checkout:
    """Sell a hat, or something else."""
    return flows.create_checkout(user=account, **{**PRICE, **changes})


def pays(checkout: Checkout, **changes: Any) -> None:
    """Let the payment of a checkout be known."""
    OrderFactory(checkout=checkout, id=checkout.order_id, **changes)


def test_a_double_click_sells_once(checkout_sandbox: Sandbox, ada: User) -> None:
    """The second call returns the first one's checkout, with the same form; the service has one order."""
    first, second = sell(ada), sell(ada)
    assert (second.pk, second.payment_form_url) == (first.pk, first.payment_form_url)
    assert checkout_sandbox.ledger.newest(9)[0] == Order.objects.count() == Checkout.objects.count() == 1


def test_two_checkouts_are_made_after_a_while(checkout_sandbox: Sandbox, ada: User) -> None:
    """Whoever asks again later wants a second one."""
    first = sell(ada)
    with time_machine.travel(timezone.now() + LATER):
        assert sell(ada).pk != first.pk


def test_the_time_is_a_setting(checkout_sandbox: Sandbox, ada: User, settings: Any) -> None:
    """DOUBLE_CLICK_SECONDS; with 0 every call makes a checkout."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "DOUBLE_CLICK_SECONDS": 0}
    assert sell(ada).pk != sell(ada).pk


def test_the_same_can_be_bought_again_at_once_when_it_is_paid(checkout_sandbox: Sandbox, ada: User) -> None:
    """A second purchase of the same thing is no double click once the first one is paid."""
    first = sell(ada)
    pays(first)
    second = sell(ada)
    assert second.pk != first.pk
    assert sell(ada).pk == second.pk


@pytest.mark.parametrize("status", ["canceled", "rejected"])
@pytest.mark.parametrize("terms", [PRICE, KEYED], ids=["without a key", "by key"])
def test_what_was_not_bought_can_be_tried_again(
    checkout_sandbox: Sandbox, ada: User, terms: dict[str, Any], status: str
) -> None:
    """A cancelled or declined checkout frees its key at once."""
    first = sell(ada, **terms)
    pays(first, status=status)
    assert sell(ada, **terms).pk != first.pk


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": Decimal("9.98")},
        {"currency": "EUR"},
        {"description": "Another hat"},
        {"metadata": {"size": "L"}},
        {"type": "product", "products": ["hat"], "amount": None, "currency": ""},
        {"type": "virtual_currency"},
        {"customer": Customer(external_id="a-friend")},
    ],
    ids=", ".join,
)
def test_another_purchase_is_another_checkout(
    checkout_sandbox: Sandbox, ada: User, changes: dict[str, Any]
) -> None:
    """Whatever differs in what is sold, or who buys."""
    assert sell(ada).pk != sell(ada, **changes).pk


def test_another_subject_is_another_checkout(checkout_sandbox: Sandbox, ada: User) -> None:
    """Two things of the shop at the same price."""
    hat, cap = Group.objects.create(name="hat"), Group.objects.create(name="cap")
    assert sell(ada, subject=hat).pk != sell(ada, subject=cap).pk
    assert sell(ada, subject=hat).pk == Checkout.objects.earliest("pk").pk


def test_guests_are_never_taken_for_one_another(checkout_sandbox: Sandbox) -> None:
    """Nothing tells two of them apart, so that only a key of the shop can say that it is the same one."""
    assert flows.create_checkout(**PRICE).pk != flows.create_checkout(**PRICE).pk
    assert flows.create_checkout(**KEYED).pk == flows.create_checkout(**KEYED).pk


def test_a_key_of_the_shop_is_one_purchase_for_good(checkout_sandbox: Sandbox, ada: User) -> None:
    """Paid, and years later: the same checkout."""
    first = sell(ada, **KEYED)
    pays(first)
    with time_machine.travel(timezone.now() + timedelta(days=700)):
        again = sell(ada, **KEYED)
    assert (again.pk, again.status) == (first.pk, "paid")


def test_a_key_belongs_to_its_customer(checkout_sandbox: Sandbox, ada: User) -> None:
    """Nobody gets the checkout of another customer by giving the same key."""
    stranger = User.objects.create_user("stranger")
    assert sell(ada, **KEYED).pk != sell(stranger, **KEYED).pk


def test_a_key_of_other_terms_is_refused(checkout_sandbox: Sandbox, ada: User) -> None:
    """The customer must not get a form of another price than the shop asks for."""
    sell(ada, **KEYED)
    with pytest.raises(CreationError, match="idempotency_key"):
        sell(ada, idempotency_key="basket-7", amount=Decimal("1.00"))
    assert Checkout.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "more", "status"),
    [
        ("server_error", {}, "unknown"),
        ("too_many_requests", {"seconds": 0}, "failed"),
    ],
    ids=["unknown", "failed"],
)
@pytest.mark.parametrize("terms", [PRICE, KEYED], ids=["without a key", "by key"])
def test_a_failed_request_can_be_repeated_at_once(
    checkout_sandbox: Sandbox, ada: User, terms: dict[str, Any], kind: str, more: dict[str, Any], status: str
) -> None:
    """The call failed, once and again, so that there is no form to find: the third click sells."""
    fault(checkout_sandbox, "api", kind, "order", times=2, **more)
    for _ in range(2):
        with pytest.raises(flows.CheckoutError) as caught:
            sell(ada, **terms)
        assert not isinstance(caught.value, flows.NotCreated)
    assert [each.status for each in Checkout.objects.order_by("pk")] == [status, status]
    assert sell(ada, **terms).status == "open"


def test_the_second_waits_for_the_first(ada: User, settings: Any) -> None:
    """It came while the service was asked: it gives up after TIMEOUT, and says whether a retry is safe."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "TIMEOUT": 0.1}
    project = app_settings().project()
    CheckoutFactory(status="new", payment_form_url="")
    with pytest.raises(flows.NotCreated) as caught:
        await_form(Checkout.objects.get(), project)
    assert (caught.value.retry_is_safe, caught.value.outcome_unknown) == (False, True)
    Checkout.objects.update(status="failed", failure="refused")
    with pytest.raises(flows.NotCreated, match="refused") as caught:
        await_form(Checkout.objects.get(), project)
    assert (caught.value.retry_is_safe, caught.value.outcome_unknown) == (True, False)


@pytest.mark.django_db(transaction=True)
def test_the_form_of_the_first_is_the_second_ones(ada: User) -> None:
    """The first request gets the service's response while the second one waits."""
    checkout = CheckoutFactory(status="new", payment_form_url="")
    waiting = Checkout.objects.get()
    first = in_background(
        lambda: Checkout.objects.update(status="open", payment_form_url=f"https://form.example/{checkout.pk}")
    )
    found = await_form(waiting, app_settings().project())
    first.join()
    assert found.payment_form_url == f"https://form.example/{checkout.pk}"


def test_a_request_whose_process_died_holds_nobody_up_for_long(checkout_sandbox: Sandbox, ada: User) -> None:
    """Its checkout stays new for ever; a key of the shop is free again after TIMEOUT."""
    creating.commit_checkout(
        app_settings().project(),
        CheckoutFactory.build(status="new", user=ada, order_id="", payment_form_url=""),
        Customer(external_id=str(ada.pk)),
        way="order ",
        given="basket-7",
    )
    with time_machine.travel(timezone.now() + timedelta(seconds=31)):
        assert sell(ada, **KEYED).status == "open"
    assert Checkout.objects.count() == 2


def test_a_second_token_is_for_the_same_checkout(checkout_sandbox: Sandbox, ada: User) -> None:
    """A token is not stored, so another one is issued; whichever is used pays for the one checkout."""
    first, second = (flows.create_token(user=ada, **PRICE) for _ in range(2))
    assert first.token != second.token
    assert (first.checkout, Checkout.objects.count()) == (second.checkout, 1)
    assert sell(ada).pk != first.checkout.pk


@pytest.mark.spec("EP1-24", "EP6-05")
def test_a_token_is_redeemed_once(checkout_sandbox: Sandbox, ada: User) -> None:
    """The second click's token finds the order of the first one, whose form stays."""
    first = flows.create_order_from_token(flows.create_token(user=ada, **PRICE))
    second = flows.create_order_from_token(flows.create_token(user=ada, **PRICE))
    assert (second.order_id, second.payment_form_url) == (first.order_id, first.payment_form_url)
    assert Checkout.objects.count() == Order.objects.count() == 1


def test_a_token_opens_a_checkout_that_another_one_has_failed_for(
    checkout_sandbox: Sandbox, ada: User
) -> None:
    """Of two requests for one checkout, one fails while the other has no response yet."""
    flows.create_token(user=ada, **PRICE)
    Checkout.objects.update(status="new")
    checkout = Checkout.objects.get()
    fault(checkout_sandbox, "api", "redirect", "tokens", status=307, target="http://127.0.0.1:9/")
    with pytest.raises(flows.CheckoutError):
        flows.create_token(user=ada, **PRICE)
    checkout.refresh_from_db()
    assert checkout.status == "failed"
    creating._record_issued(checkout)
    checkout.refresh_from_db()
    assert checkout.status == "open"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("terms", [PRICE, KEYED], ids=["without a key", "by key"])
def test_threads_at_once_sell_once(checkout_sandbox: Sandbox, ada: User, terms: dict[str, Any]) -> None:
    """Each has the form of the one checkout."""
    keys = at_once([lambda: sell(ada, **terms).pk] * 8)
    assert set(keys) == set(Checkout.objects.values_list("pk", flat=True))
    assert checkout_sandbox.ledger.newest(9)[0] == Checkout.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_threads_at_once_sell_once_again(checkout_sandbox: Sandbox, ada: User) -> None:
    """The key of a checkout that counts no longer is freed by one of them."""
    first = sell(ada)
    Checkout.objects.update(status="cancelled")
    keys = set(at_once([lambda: sell(ada).pk] * 8))
    assert len(keys) == 1 and first.pk not in keys
    assert Checkout.objects.count() == 2


def sell_in_process(account: int) -> str:
    """Sell from a process of its own; return the address of the form."""
    return sell(User.objects.get(pk=account)).payment_form_url


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_processes_at_once_sell_once(checkout_sandbox: Sandbox, ada: User) -> None:
    """As two workers of a web server do that get one click each."""
    forms = in_processes(sell_in_process, [ada.pk] * 3)
    checkout = Checkout.objects.get()
    assert set(forms) == {checkout.payment_form_url} != {""}


def test_an_erased_customers_key_is_not_stored(checkout_sandbox: Sandbox, ada: User) -> None:
    """It is a hash of who they are; it goes with them, and does not come back."""
    sell(ada, attribution=flows.Attribution(utm_source="letter"))
    (person,) = flows.privacy.find_persons(external_id=str(ada.pk))
    flows.privacy.erase_customer(person, PRIVACY_REQUEST)
    sell(ada, attribution=flows.Attribution(utm_source="letter"))
    stored = Checkout.objects.values_list("idempotency_key", "utm_source")
    assert list(stored) == [(None, "")] * 2


def test_a_repeated_request_writes_nothing(checkout_sandbox: Sandbox, ada: User) -> None:
    """The row stays as it is."""
    sell(ada)
    columns = ("idempotency_key", "status", "recorded_at", "payment_form_url", "order_id")
    before = list(Checkout.objects.values_list(*columns))
    sell(ada)
    assert list(Checkout.objects.values_list(*columns)) == before


def test_a_paid_purchase_is_issued_no_other_token(checkout_sandbox: Sandbox, ada: User) -> None:
    """Its form would let the customer pay twice; the token of before leads to the checkout as it is."""
    issued = flows.create_token(user=ada, **KEYED)
    paid = flows.create_order_from_token(issued)
    pays(paid)
    with pytest.raises(flows.NotCreated, match="its checkout is paid"):
        flows.create_token(user=ada, **KEYED)
    Checkout.objects.update(order_id="")
    assert flows.create_order_from_token(issued).status == "paid"
    assert checkout_sandbox.ledger.newest(9)[0] == 1


def test_a_key_with_a_subject_finds_its_checkout(checkout_sandbox: Sandbox, ada: User) -> None:
    """The subject's key is a number before it is stored."""
    hat = Group.objects.create(name="hat")
    first, second = (sell(ada, subject=hat, **KEYED) for _ in range(2))
    assert first.pk == second.pk


@pytest.mark.parametrize("terms", [PRICE, KEYED], ids=["without a key", "by key"])
def test_accounts_with_one_external_id_buy_each(
    checkout_sandbox: Sandbox, ada: User, terms: dict[str, Any]
) -> None:
    """Such as those of a company: each owns what it has bought."""
    bob = User.objects.create_user("bob")
    acme = Customer(external_id="acme")
    assert sell(ada, customer=acme, **terms).user == ada
    assert sell(bob, customer=acme, **terms).user == bob


def test_a_checkout_without_a_form_is_not_found_for_good(checkout_sandbox: Sandbox, ada: User) -> None:
    """Its response was lost, and the sync has opened it: nobody can pay it."""
    first = sell(ada, **KEYED)
    long_ago = timezone.now() - timedelta(hours=1)
    Checkout.objects.update(payment_form_url="", recorded_at=long_ago)
    second = sell(ada, **KEYED)
    assert second.pk != first.pk
    assert second.payment_form_url
