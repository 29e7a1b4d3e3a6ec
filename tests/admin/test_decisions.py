"""Each page that asks for a decision: its object, what will happen, mistakes in the form, and the message afterwards."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.flows import run_due
from checkout_integration.models import Checkout, Order, PersonalData, Transition
from checkout_integration.signals import checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.shop import Failing, Listening, notification

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_pauses")]
BUYER: Final = {"id": "u-1", "external_id": "player-1", "name": "Ada Lovelace", "email": "ada@buyers.example"}
DECISIONS: Final = ("accept", "revoke", "mark-granted", "restore", "erase")


def sold(deliver: Deliver, **changes: Any) -> Order:
    """A payment for 1,200 gems of 19.99 USD by Robin's account."""
    checkout = CheckoutFactory(
        user=User.objects.get_or_create(username="robin")[0],
        description="1,200 gems",
        expected_amount=Decimal("19.99"),
    )
    document = order_document_for(checkout, **{"user": BUYER, **changes})
    deliver(order=document)
    return Order.objects.get(order_id=document["id"])


def ready(deliver: Deliver, listen: Listening, decision: str) -> Order:
    """An order for which this decision is possible."""
    listen(checkout_reversed, name="shop.take_back")
    if decision == "mark-granted":
        listen(checkout_paid, Failing(times=99), name="shop.grant")
        return sold(deliver)
    listen(checkout_paid, name="shop.grant")
    if decision == "accept":
        return sold(deliver, amount=Decimal("1.00"))
    order = sold(deliver)
    if decision == "restore":
        document = {**order.whole_document, "status": "chargeback"}
        deliver(notification("payment.chargeback", document))
        order.refresh_from_db()
    return order


def address(order: Order, decision: str) -> str:
    """The address of the page that asks."""
    return page_address("order", order).replace("/change/", f"/{decision}/")


def text(client: Client, order: Order, decision: str, **answers: str) -> str:
    """The page that asks, or the one after it was answered."""
    url = address(order, decision)
    response = client.post(url, answers, follow=True) if answers else client.get(url)
    return response.content.decode().replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("decision", DECISIONS)
def test_it_names_the_customer(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, decision: str
) -> None:
    """By name, e-mail address and account."""
    html = text(admin_client, ready(checkout_deliver, listen, decision), decision)
    for words in ("Ada Lovelace", "ada@buyers.example", "robin", "player-1"):
        assert words in html, words


@pytest.mark.parametrize("decision", ["accept", "restore"])
def test_it_names_other_orders_of_the_customer_that_were_charged_back(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, decision: str
) -> None:
    """Whoever decides about money is told; the order itself is not among them."""
    order, words = (
        ready(checkout_deliver, listen, decision),
        "Other orders of the customer that were charged back",
    )
    assert words not in text(admin_client, order, decision)
    disputed = rows.make_order(user=order.user, status="chargeback")
    html = text(admin_client, order, decision)
    assert words in html and disputed.order_id in html


def test_the_e_mail_is_where_the_receipt_went(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The address that staff search by, not that of the account at the service."""
    order = ready(checkout_deliver, listen, "accept")
    PersonalData.objects.update(email="pays@buyers.example")
    assert "pays@buyers.example" in text(admin_client, order, "accept")


@pytest.mark.parametrize("decision", [each for each in DECISIONS if each != "erase"])
def test_it_shows_what_was_paid_beside_what_was_expected(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, decision: str
) -> None:
    """With the product, the time of the payment, and what went back."""
    order = ready(checkout_deliver, listen, decision)
    html = text(admin_client, order, decision)
    paid = "1.00 USD" if decision == "accept" else "19.99 USD"
    assert f"{paid}; expected: 19.99 USD" in html
    assert ("differs" in html) == (decision == "accept")
    assert "1,200 gems" in html and "When paid" in html and "<time" in html
    assert ("charged back: " if decision == "restore" else "none known") in html


def test_it_hides_the_customer_from_those_who_may_not_see_personal_data(
    client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The account and the id are shown."""
    order = ready(checkout_deliver, listen, "accept")
    client.force_login(rows.make_staff("view_order", "accept_payment"))
    html = text(client, order, "accept")
    assert "Ada" not in html and "ada@" not in html and "robin" in html


EFFECTS: Final = {
    "accept": "This code of the shop runs, to deliver the goods: shop.grant.",
    "restore": "This code of the shop runs, to deliver the goods: shop.grant.",
    "revoke": "This code of the shop runs, to take the goods back: shop.take_back.",
}


@pytest.mark.parametrize("decision", EFFECTS)
def test_it_says_which_code_runs_and_the_message_says_it_again(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, decision: str
) -> None:
    """In this case, not in general; to look at the page changes nothing."""
    order = ready(checkout_deliver, listen, decision)
    before = Order.objects.values().get()
    assert EFFECTS[decision] in text(admin_client, order, decision)
    assert Order.objects.values().get() == before
    after = text(admin_client, order, decision, reason="because")
    assert EFFECTS[decision] in after and "because" in after
    assert Transition.objects.filter(act=decision, reason="because").count() == 1


def test_without_a_receiver_it_says_what_to_do(admin_client: Client, checkout_deliver: Deliver) -> None:
    """Before and after: nothing is promised."""
    order = sold(checkout_deliver, amount=Decimal("1.00"))
    sentence = "No code of the shop runs to deliver goods: deliver them by hand."
    assert sentence in text(admin_client, order, "accept")
    assert f"The payment is accepted. {sentence}" in text(admin_client, order, "accept", reason="because")
    sentence = "No code of the shop runs to take goods back: do it by hand."
    assert sentence in text(admin_client, order, "revoke")
    assert sentence in text(admin_client, order, "revoke", reason="because")


def test_a_shop_that_pulls_is_said(admin_client: Client, checkout_deliver: Deliver, settings: Any) -> None:
    """No code of it runs, and nothing is to be done by hand."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "GOODS": "pull"}
    order = sold(checkout_deliver, amount=Decimal("1.00"))
    assert "The shop itself reads what is paid" in text(admin_client, order, "accept")


def test_what_was_delivered_already_is_not_promised_again(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The second payment for a checkout, which differs: the goods stay delivered once."""
    order = ready(checkout_deliver, listen, "revoke")
    document = {**order.whole_document, "id": "second", "amount": Decimal("1.00")}
    checkout_deliver(order=document)
    second = Order.objects.get(order_id="second")
    sentence = "No code of the shop runs: the goods of this payment are delivered already"
    assert sentence in text(admin_client, second, "accept")
    assert sentence in text(admin_client, second, "accept", reason="because")


def test_goods_that_no_code_has_delivered_are_not_taken_back(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The receiver of the reversal would find nothing to do."""
    listen(checkout_reversed, name="shop.take_back")
    order = sold(checkout_deliver)
    assert "No code of the shop has delivered these goods" in text(admin_client, order, "revoke")


def test_without_a_checkout_it_leads_to_linking(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The shop's code would not learn what was sold."""
    listen(checkout_paid, name="shop.grant")
    checkout_deliver(order=OrderDocumentFactory(id="unbound", metadata={}))
    order = Order.objects.get()
    html = text(admin_client, order, "accept")
    assert "The payment has no checkout, so this code does not learn what was sold" in html
    assert f'href="{address(order, "bind")}"' in html


@pytest.mark.parametrize("decision", [*EFFECTS, "erase"])
def test_a_mistake_keeps_the_form(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, decision: str
) -> None:
    """The error stands beside its field, below what the decision is about; nothing is done."""
    order = ready(checkout_deliver, listen, decision)
    html = text(admin_client, order, decision, reason=" ")
    assert "This field is required." in html and "Ada Lovelace" in html and "autofocus" in html
    assert not Transition.objects.exclude(act="").exists()


def test_a_refusal_keeps_what_was_written(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A colleague was faster: the reason is still in the form."""
    order = ready(checkout_deliver, listen, "accept")
    from checkout_integration.flows import operations

    def late(*_args: object, **_named: object) -> None:
        raise ValueError

    monkeypatch.setattr(operations, "accept_payment", late)
    html = text(admin_client, order, "accept", reason="they paid the rest")
    assert "Only a paid order can be accepted" in html and 'value="they paid the rest"' in html


def test_erasing_warns_of_a_dispute(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """What the bank could be shown goes too; a new payment may still be disputed."""
    html = text(admin_client, ready(checkout_deliver, listen, "restore"), "erase")
    assert "1 order is charged back: what could be shown to the bank about it is erased too." in html
    assert "at their bank for about 120 days: what the bank could be shown is erased." in html
    assert "for a decision" not in html


def test_erasing_warns_of_a_payment_that_waits(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Whoever decides afterwards cannot see whose money it is."""
    html = text(admin_client, ready(checkout_deliver, listen, "accept"), "erase")
    assert "1 payment waits for a decision: afterwards nobody can see whose it is." in html


# Link to a checkout: by a click.


def unbound(deliver: Deliver, **changes: Any) -> Order:
    """A payment of 19.99 USD by player-1 that names no checkout."""
    document = OrderDocumentFactory(
        **{
            "amount": Decimal("19.99"),
            "currency": "USD",
            "type": "simple",
            "metadata": {},
            "user": BUYER,
            **changes,
        }
    )
    deliver(order=document)
    order = Order.objects.get(order_id=document["id"])
    robin = User.objects.get_or_create(username="robin")[0]
    assert order.user is not None
    type(order.user).objects.filter(pk=order.user.pk).update(account=robin)
    return order


def gems(**columns: Any) -> Checkout:
    """An open checkout of 19.99 USD."""
    given = {"description": "1,200 gems", "expected_amount": Decimal("19.99"), "type": "simple"}
    made: Checkout = CheckoutFactory(**{**given, **columns})
    return made


def test_the_checkouts_that_it_may_be_for_are_offered(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """One of the customer's that fits first, then one of somebody else that fits, then another one of the customer's."""
    listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver)
    robin = User.objects.get(username="robin")
    other, stranger = (
        gems(user=robin, description="A hat", expected_amount=Decimal("5.00")),
        gems(description="Boots"),
    )
    fits, foreign = gems(user=robin), gems(description="A crown", expected_amount=Decimal("99.00"))
    gems(user=robin, description="Sold", status="paid")
    html = text(admin_client, order, "bind")
    places = [html.index(f'value="{each.pk}"') for each in (fits, stranger, other)]
    assert places == sorted(places)
    assert "1,200 gems · 19.99 USD · account robin, this customer · fits" in html
    assert "A hat · 5.00 USD · account robin, this customer · does not fit: other amount" in html
    assert foreign.description not in html and "Sold" not in html
    assert "to deliver the goods: shop.grant." in html


def test_one_click_links_it(admin_client: Client, checkout_deliver: Deliver, listen: Listening) -> None:
    """And the message says what became of it."""
    heard = listen(checkout_paid, name="shop.grant")
    order, checkout = unbound(checkout_deliver), gems()
    html = text(admin_client, order, "bind", checkout=str(checkout.pk), type="simple", reason="their receipt")
    assert f"linked to checkout {checkout.reference}: verified." in html
    assert "This code of the shop runs, to deliver the goods: shop.grant." in html
    assert [each["checkout"] for each in heard] == [checkout]


def test_what_does_not_fit_waits_for_acceptance(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The message does not promise goods."""
    listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver)
    hat = gems(user=User.objects.get(username="robin"), expected_amount=Decimal("5.00"))
    html = text(admin_client, order, "bind", checkout=str(hat.pk), type="simple", reason="their receipt")
    assert (
        "in review (other amount)." in html and "Nothing is delivered while the payment is in review." in html
    )


def test_what_somebody_else_ordered_is_not_offered(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Where the payment names its customer; where it does not, the page says whose each of them is."""
    eve = User.objects.create_user("eve")
    hers = gems(user=eve)
    assert f'value="{hers.pk}"' not in text(admin_client, unbound(checkout_deliver), "bind")
    html = text(
        admin_client, unbound(checkout_deliver, user={**BUYER, "id": "u-2", "external_id": None}), "bind"
    )
    assert (
        f'value="{hers.pk}"' in html
        and "1,200 gems · 19.99 USD · account eve, another customer · fits" in html
    )


@pytest.mark.parametrize("way", ["checkout", "reference"])
def test_goods_go_to_somebody_else_only_if_staff_say_so(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, way: str
) -> None:
    """Else the form says whose they would be, beside the box to tick, and nothing is linked."""
    heard = listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver, user={**BUYER, "id": "u-2", "external_id": None})
    hers = gems(user=User.objects.create_user("eve"))
    chosen = {
        way: str(hers.pk if way == "checkout" else hers.reference),
        "type": "simple",
        "reason": "a gift",
    }
    html = text(admin_client, order, "bind", **chosen)
    refusal = html.index(
        "This checkout is eve&#x27;s, and the goods go there. If that is meant, tick this box;"
    )
    assert (
        html.index('name="reference"') < refusal < html.index('name="for_another"') < html.index("<details")
    )
    order.refresh_from_db()
    assert (order.checkout, heard) == (None, [])
    text(admin_client, order, "bind", **chosen, for_another="on")
    order.refresh_from_db()
    assert order.checkout == hers and [each["checkout"] for each in heard] == [hers]


def test_the_same_person_is_known_by_the_receipt(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """A payment without an account of the shop, for the checkout of an account with that address: nobody else's."""
    listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver, user={**BUYER, "id": "u-2", "external_id": None})
    PersonalData.objects.update(email="eve@buyers.example")
    hers = gems(user=User.objects.create_user("eve", "Eve@buyers.example"))
    gems(user=User.objects.create_user("mallory"))
    html = text(admin_client, order, "bind")
    own, other = "account eve, this customer · fits", "account mallory, another customer · fits"
    assert html.index(own) < html.index(other)
    page = text(admin_client, order, "bind", checkout=str(hers.pk), type="simple", reason="their receipt")
    assert f"linked to checkout {hers.reference}: verified." in page


def test_a_new_checkout_is_folded_where_one_is_offered(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """It is open where nothing fits, which the page says, and after a mistake in it. One sentence says what is delivered."""
    listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver)
    fold, none = "<summary>None of these: describe a new checkout</summary>", "No checkout of this shop fits."
    html = text(admin_client, order, "bind")
    assert "<details open><summary>Describe a new checkout</summary>" in html and none in html
    gems(user=User.objects.get(username="robin"))
    html = text(admin_client, order, "bind")
    assert f"<details>{fold}" in html and none not in html
    assert "it counts. This code of the shop runs, to deliver the goods: shop.grant.</li>" in html
    assert f"<details open>{fold}" in text(admin_client, order, "bind", type="simple", currency="USD")


MISTAKES: Final = [
    ({"reference": "unknown"}, "reference", "There is no checkout with this reference"),
    (
        {"type": "simple", "currency": "USD", "description": "gems"},
        "amount",
        "Say which amount was to be paid.",
    ),
    (
        {"type": "simple", "amount": "9.99", "description": "gems"},
        "currency",
        "Give amount and currency, or neither.",
    ),
    (
        {"type": "simple", "amount": "1999", "currency": "USD", "description": "gems"},
        "other_price",
        "The customer paid 19.99 USD, and you wrote 1,999.00 USD.",
    ),
]


@pytest.mark.parametrize(("answers", "field", "words"), MISTAKES)
def test_a_mistake_in_linking_keeps_all_fields(
    admin_client: Client, checkout_deliver: Deliver, answers: dict[str, str], field: str, words: str
) -> None:
    """The error stands beside its field, which has the cursor."""
    order = unbound(checkout_deliver)
    html = text(admin_client, order, "bind", **{"type": "simple", **answers, "reason": "by phone"})
    assert words in html and 'value="by phone"' in html
    for value in (each for name, each in answers.items() if name != "type"):
        assert f'value="{value}"' in html
    control = html[: html.index("autofocus")].rpartition("<input")[2]
    assert f'name="{field}"' in control
    assert not Checkout.objects.exists()


def test_another_price_is_meant_if_staff_say_so(admin_client: Client, checkout_deliver: Deliver) -> None:
    """It is what was agreed; the payment then waits for somebody who accepts less."""
    described = {"type": "simple", "amount": "29.99", "currency": "USD", "reason": "the season pass"}
    html = text(admin_client, unbound(checkout_deliver), "bind", **described, other_price="on")
    assert "in review" in html
    assert Checkout.objects.get().expected_amount == Decimal("29.99")


def test_a_new_checkout_has_what_the_receiver_needs(admin_client: Client, checkout_deliver: Deliver) -> None:
    """The kind of thing and its id, where the shop sells its own objects; one that is not there is a mistake."""
    order, thing = unbound(checkout_deliver), User.objects.create_user("a-thing")
    gems(subject=thing, expected_amount=Decimal("19.99"))
    described = {
        "type": "simple",
        "amount": "19.99",
        "currency": "USD",
        "description": "gems",
        "reason": "by phone",
        "subject_type": str(Checkout.objects.get().subject_type_id),
    }
    assert "The shop has nothing with this id." in text(
        admin_client, order, "bind", **described, subject_id="0"
    )
    html = text(admin_client, order, "bind", **described, subject_id=str(thing.pk))
    assert ": verified." in html
    made = Checkout.objects.latest("pk")
    assert (made.subject, made.user) == (thing, User.objects.get(username="robin"))


@pytest.mark.parametrize("offered", [True, False])
def test_a_new_checkout_says_to_which_thing_it_belongs(
    offered: bool, admin_client: Client, checkout_deliver: Deliver
) -> None:
    """In a shop that sells its own objects it is asked, whether or not checkouts are offered: the shop's code would fail."""
    thing = User.objects.create_user("a-thing")
    gems(subject=thing, **({} if offered else {"user": None, "identity": "", "status": "paid"}))
    order = unbound(checkout_deliver)
    described = {
        "type": "simple",
        "amount": "19.99",
        "currency": "USD",
        "description": "x",
        "reason": "by phone",
    }
    assert "Choose what it is in the shop" in text(admin_client, order, "bind", **described)
    assert ": verified." in text(admin_client, order, "bind", **described, subject_type="none")
    assert Checkout.objects.latest("pk").subject is None


def test_an_accepted_payment_is_not_called_delivered(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Its code ran without a checkout: nobody knows what it delivered. The page of the order says so, and that to link it."""
    listen(checkout_paid, name="shop.grant")
    order = unbound(checkout_deliver)
    text(admin_client, order, "accept", reason="phoned")
    run_due()
    page = admin_client.get(page_address("order", order)).content.decode()
    assert "may have delivered nothing" in page and "Nothing to do." not in page
    gems(expected_amount=Decimal("19.99"))
    for html in (
        text(admin_client, order, "bind"),
        text(admin_client, order, "bind", reason="found it", checkout=str(Checkout.objects.get().pk)),
    ):
        assert "No code of the shop runs again" in html
        assert "delivered already" not in html and "the goods are delivered:" not in html
