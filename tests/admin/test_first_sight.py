"""What a new colleague misread at the desk: each sentence, name and button that was changed for it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.utils import timezone

from checkout_integration import flows
from checkout_integration.flows.outbox.receivers import record_now
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Grant,
    Order,
    PersonalData,
    ReceiverRun,
    Refund,
)
from checkout_integration.signals import RetryLater, checkout_paid, checkout_reversed
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.shop import Listening, notification

pytestmark = pytest.mark.django_db
CAUSE = "the guest has not added it to an account"
LISTS = "/admin/checkout_integration"


def words(client: Client, address: str, data: dict[str, Any] | None = None) -> str:
    """The page, without its markup; of a POST the page to which it leads."""
    answer = client.get(address) if data is None else client.post(address, data, follow=True)
    return " ".join(
        unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", answer.text, flags=re.DOTALL)).split()
    )


def press(row: Any, button: str, model: str = "order") -> str:
    """The address of a button's question."""
    return page_address(model, row).replace("/change/", f"/{button}/")


def wait_for_account(checkout: Checkout, **arguments: Any) -> None:
    """Deliver to an account only."""
    if checkout.owner is None:
        raise RetryLater(3600, CAUSE)


def guests_order(deliver: Deliver, email: str = "hugo@example.com") -> Order:
    """A guest's paid order; the service knows a guest anew at each purchase."""
    checkout = CheckoutFactory(description="Tin raven", user=None)
    user = UserDocumentFactory(external_id=None, email=email)
    document = {**order_document_for(checkout), "user": user}
    deliver(order=document)
    order = Order.objects.get(order_id=document["id"])
    PersonalData.objects.filter(order=order).update(email=email)
    return order


def test_goods_that_wait_say_for_what_until_somebody_links_the_guest(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """Nobody reads "being delivered" of them; the button is the one that helps; then nothing says that they wait."""
    listen.connect(checkout_paid, wait_for_account, "shop.give")
    order = guests_order(checkout_deliver)
    User.objects.create_user("juno")
    page = words(admin_client, page_address("order", order))
    assert f"The goods wait: {CAUSE}." in page and "are being delivered" not in page
    assert f"shop.give – postponed, waits for: {CAUSE}" in page
    assert page.index("Link to an account") < page.index("More"), "the main button"
    assert f"waits for: {CAUSE}" in words(admin_client, f"{LISTS}/receiverrun/")
    question = words(admin_client, press(order, "link-account"))
    assert "unless it waits for an account: then it runs now" in question
    words(
        admin_client,
        press(order, "link-account"),
        {"account": "juno", "reason": "it is theirs", "confirmed": "yes"},
    )
    flows.run_due()
    page = words(admin_client, page_address("order", order))
    assert "Delivered" in page and "The goods wait" not in page


def test_other_guests_with_the_same_address_are_named(
    admin_client: Client, checkout_deliver: Deliver
) -> None:
    """By their ids, of those whom nobody has linked yet; the address itself is not written."""
    first, second, other = (
        guests_order(checkout_deliver, f"{name}@example.com") for name in ("hugo", "hugo", "ada")
    )
    assert first.user and second.user and other.user
    question = words(admin_client, press(first, "link-account"))
    named = question.partition("Other guests have the same e-mail address")[2]
    assert str(second.user) in named and str(other.user) not in question
    flows.operations.link_account(second.user, User.objects.create_user("juno"), reason="theirs")
    assert "Other guests" not in words(admin_client, press(first, "link-account"))


def test_a_new_checkout_is_for_a_thing_that_was_sold_before_by_its_name(
    admin_client: Client, checkout_deliver: Deliver
) -> None:
    """What was sold more than once; a basket of one customer is none of these."""
    product, basket = User.objects.create_user("1,200 gems"), User.objects.create_user("basket of Ada")
    for subject in (product, product, basket):
        CheckoutFactory(subject=subject, description="x", expected_amount="5.00")
    removed = ContentType.objects.create(app_label="an_app_that_was_removed", model="thing")
    for _ in range(2):
        checkout = CheckoutFactory(description="x", expected_amount="5.00")
        Checkout.objects.filter(pk=checkout.pk).update(subject_type=removed, subject_id="1")
    kind = ContentType.objects.get_for_model(User).pk
    document = {**order_document_for(CheckoutFactory.build(), amount="19.99"), "metadata": {}}
    checkout_deliver(order=document)
    order = Order.objects.get(order_id=document["id"])
    question = words(admin_client, press(order, "bind"))
    assert "1,200 gems" in question and "basket of Ada" not in question
    answers = {
        "type": "simple",
        "amount": "19.99",
        "currency": "USD",
        "description": "gems",
        "reason": "by phone",
    }
    choice = {"subject_type": f"{kind}:{product.pk}", "confirmed": "yes"}
    assert ": verified." in words(admin_client, press(order, "bind"), {**answers, **choice})
    order.refresh_from_db()
    assert order.checkout is not None and order.checkout.subject == product


def test_a_block_is_lifted_where_it_was_set(admin_client: Client) -> None:
    """On the order of the chargeback, too."""
    order = rows.make_order(user=rows.make_customer(), status="chargeback")
    for button, is_blocked in (("block", True), ("unblock", False)):
        words(admin_client, press(order, button), {"reason": "a thief?", "confirmed": "yes"})
        assert CheckoutUser.objects.filter(blocked_at__isnull=False).exists() == is_blocked


def test_the_lists_say_until_when_a_pass_is_owned(admin_client: Client) -> None:
    """Nobody opens every agreement to see which ends next."""
    now = datetime.now(UTC)
    for days in (-3, 40):
        at = now + timedelta(days=days)
        Checkout.objects.filter(pk=rows.make_checkout(status="paid").pk).update(lasts_days=30, owned_until=at)
    page = words(admin_client, f"{LISTS}/checkout/")
    for days, word in ((-3, "ended"), (40, "until")):
        assert f"{word} {now + timedelta(days=days):%Y-%m-%d}" in page


def test_code_that_is_paused_is_resumed_where_it_is_named(admin_client: Client, listen: Listening) -> None:
    """Although no run waits for it yet."""
    listen.connect(checkout_paid, wait_for_account, "shop.give")
    record_now()
    run = rows.make_run(rows.make_order(), receiver="shop.give", due_at=datetime.now(UTC))
    grace = User.objects.create_user("grace")
    assert flows.operations.pause_receiver("shop.give", staff=grace, reason="a flood") == 0
    page = admin_client.get(f"{LISTS}/failures/").text
    (address,) = re.findall(r'href="([^"]+/resume/)"', page)
    assert str(run.pk) in address
    assert "grace a flood" in words(admin_client, f"{LISTS}/failures/"), "who, and why"
    assert "The code is resumed:" in words(admin_client, address, {"confirmed": "yes"})


def test_evidence_promises_no_use_that_nobody_recorded(admin_client: Client) -> None:
    """And the address of a receipt, which opens it for everybody, is in none of its files."""
    order = rows.make_order(document={"receipt_url": "https://service.example/receipts/canary"})
    answer: Any = admin_client.get(press(order, "evidence"))
    content = b"".join(answer.streaming_content)
    pack = ZipFile(BytesIO(content))
    page = pack.read("summary.html").decode()
    assert "What happened, and when</h2>" in page and "used" not in page
    assert not [name for name in pack.namelist() if b"canary" in pack.read(name)]


def test_a_file_is_named_by_its_days(admin_client: Client) -> None:
    """An accountant has one for each month."""
    answer = admin_client.get(f"{LISTS}/refund/csv/?from_day=2026-10-01&to_day=2026-10-31")
    assert 'filename="refunds-2026-10-01-2026-10-31.csv"' in answer["Content-Disposition"]


@pytest.mark.parametrize("text", ["9.99 USD", "USD 9.99", "9,99\u00a0usd"])
def test_an_amount_may_be_typed_with_its_currency(admin_client: Client, text: str) -> None:
    """As the customer says it."""
    order = rows.make_order()
    page = admin_client.get(f"{LISTS}/order/", {"amount": text})
    assert list(page.context["cl"].queryset) == [order]


def test_a_run_that_is_due_again_waits_for_nothing() -> None:
    """What it waited for has come, or its time has."""
    columns: dict[str, Any] = {"state": "due", "postponed_for": CAUSE, "finished_at": None}
    runs = [
        rows.make_run(rows.make_order(), due_at=datetime.now(UTC) + timedelta(minutes=minutes), **columns)
        for minutes in (5, -5)
    ]
    assert [ReceiverRun.objects.get(pk=run.pk).is_postponed for run in runs] == [True, False]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"state": "failed"}, "not granted"),
        (
            {"state": "due", "attempts": 2, "due_at": datetime.now(UTC) + timedelta(hours=1)},
            "failing, retried later",
        ),
        ({"state": "due", "attempts": 0, "due_at": datetime.now(UTC)}, "being granted"),
        ({"state": "paused", "attempts": 0}, "paused"),
        ({"state": "done"}, ""),
    ],
)
def test_the_list_says_of_which_orders_the_goods_are_not_there(
    admin_client: Client, columns: dict[str, Any], said: str
) -> None:
    """Of five orders of a customer, all paid and verified, support sees at once which one it is about."""
    rows.make_granting_run(rows.make_order("order-1", checkout=rows.make_checkout()), state="done")
    rows.make_granting_run(rows.make_order("order-2", checkout=rows.make_checkout()), **columns)
    page = words(admin_client, f"{LISTS}/order/").partition("order-2")[2].partition("order-1")[0]
    (status,) = re.findall(r"Status: (.*?) Amount:", page)
    assert "paid" in status and said in status
    assert bool(said) == (len(status.split()) > 2), "nothing stands where all is well"


def test_goods_that_were_delivered_to_a_wrong_account_are_moved_by_hand(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The shop's code does not run again; another link, and the end of the link, say so before they are made."""
    listen.connect(checkout_paid, wait_for_account, "shop.give")
    order = guests_order(checkout_deliver)
    for name in ("juno", "rob"):
        User.objects.create_user(name)
    assert "move by hand" not in words(admin_client, press(order, "link-account"))
    answers = {"account": "juno", "reason": "it is theirs", "confirmed": "yes"}
    words(admin_client, press(order, "link-account"), answers)
    flows.run_due()
    assert "Nothing to do." in words(admin_client, page_address("order", order))
    for button in ("link-account", "unlink-account"):
        question = words(admin_client, press(order, button))
        assert "perhaps for the account juno, it does not do again" in question
    for button, given in (("unlink-account", {}), ("link-account", {"account": "rob"})):
        said = words(admin_client, press(order, button), {**answers, **given})
        assert "perhaps for the account juno, it does not do again" in said or button == "link-account"
        page = words(admin_client, page_address("order", order))
        assert "what was delivered there is moved by hand" in page and "Nothing to do." not in page


def test_what_an_account_bought_itself_is_moved_by_hand(
    admin_client: Client, checkout_deliver: Deliver
) -> None:
    """A link moves nothing of it; the page says what does."""
    checkout = CheckoutFactory(user=User.objects.create_user("juno"))
    checkout_deliver(order=order_document_for(checkout))
    question = words(admin_client, press(Order.objects.get(), "link-account"))
    assert "belongs to the account juno, and stays there: a link moves nothing" in question
    assert "revoke the goods on the page of the order, and deliver them in the shop by hand" in question


@pytest.mark.parametrize(("status", "too_many"), [("processed", True), ("refunded", False)])
def test_another_payment_that_was_given_back_is_not_one_too_many(
    admin_client: Client, status: str, too_many: bool
) -> None:
    """It is named all the same: it explains why the customer writes."""
    customer = rows.make_customer()
    order = rows.make_order("order-1", user=customer)
    rows.make_order("order-2", user=customer, status=status)
    page = words(admin_client, page_address("order", order))
    assert "paid for the same product in another order too" in page
    assert ("perhaps one of them is too many" in page) == too_many


def test_the_timeline_says_how_much_was_given_back(admin_client: Client, checkout_deliver: Deliver) -> None:
    """Of a refund of a part, that is what the customer asks about."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    part = order_document_for(checkout, status="refunded", partly_refunded=True)
    checkout_deliver(notification("payment.refund", part))
    story = words(admin_client, page_address("order", Order.objects.get())).partition("What happened")[2]
    amount = Refund.objects.get().amount
    assert amount and re.search(rf"refunded .{{0,40}}{amount:.2f}", story.partition("Engine room")[0])


def test_a_claim_that_was_undone_stays_in_the_timeline(
    admin_client: Client, admin_user: User, checkout_deliver: Deliver
) -> None:
    """Who had the purchase, and since when; beside it who took it back, and perhaps who has it now."""
    checkout = CheckoutFactory()
    checkout_deliver(order=order_document_for(checkout))
    for name in ("juno", "vera"):
        assert flows.claim(Checkout.objects.get(), User.objects.create_user(name))
        if name == "juno":
            assert flows.operations.undo_claim(checkout, staff=admin_user, reason="the wrong account")
    story = words(admin_client, page_address("order", Order.objects.get())).partition("What happened")[2]
    said = re.findall(r"claimed by the account \w+|claim of a purchase undone", story)
    assert said == [
        "claimed by the account juno",
        "claim of a purchase undone",
        "claimed by the account vera",
    ]
    acts = admin_client.get("/admin/checkout_integration/staffact/").content.decode()
    assert ">juno<" in acts


def test_what_was_delivered_to_the_account_of_an_undone_claim_is_moved_by_hand(
    admin_client: Client, admin_user: User, checkout_deliver: Deliver, listen: Listening
) -> None:
    """The shop's code does not run again for the next one. An account that claims it again has all it needs."""
    listen(checkout_paid, lambda **_: None, name="shop.receivers.mail")
    listen.connect(checkout_paid, wait_for_account, "shop.give")
    checkout = CheckoutFactory()
    document = order_document_for(checkout)
    checkout_deliver(order=document)
    page = page_address("order", Order.objects.get())
    juno, vera = (User.objects.create_user(name) for name in ("juno", "vera"))
    moved = "Another account had this purchase before: what was delivered there is moved by hand."
    said = []
    for account, delivers in ((juno, False), (juno, True), (vera, True)):
        assert flows.claim(Checkout.objects.get(), account)
        if delivers:
            flows.run_due()
        said.append(moved in words(admin_client, page))
        if account == juno:
            flows.operations.undo_claim(Checkout.objects.get(), staff=admin_user, reason="the wrong one")
            said.append(moved in words(admin_client, page))
    assert said == [False, False, False, True, True], "the first time nothing was delivered"
    question = words(admin_client, press(Order.objects.get(), "link-account"))
    assert "belongs to the account vera, and stays there: a link moves nothing." in question
    assert "undo the claim on the page of the checkout first" in question and "by hand" not in question
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    assert moved not in words(admin_client, page), "a refund takes back what was delivered, wherever"


def pulled(settings: Any) -> None:
    """Let game servers fetch what is sold."""
    setting = settings.CHECKOUT_INTEGRATION
    own = {**setting["PROJECTS"]["default"], "OWNERSHIP_TOKENS": ["a-token-of-the-servers"]}
    settings.CHECKOUT_INTEGRATION = {**setting, "GOODS": "pull", "PROJECTS": {"default": own}}


def test_goods_that_a_game_server_fetches_and_code_that_waits(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """Both are said: the server that has not come, and the cause. "Delivered" waits for the code."""
    pulled(settings)

    def courier(**arguments: Any) -> None:
        raise RetryLater(600, "the courier is away")

    listen(checkout_paid, courier, name="shop.receivers.send")
    checkout_deliver(order=order_document_for(CheckoutFactory(user=User.objects.create_user("juno"))))
    page = page_address("order", Order.objects.get())
    assert "The goods wait for a game server. The goods wait: the courier is away." in words(
        admin_client, page
    )
    Grant.objects.update(acknowledged_at=timezone.now())
    said = words(admin_client, page)
    assert "The goods wait: the courier is away." in said and "Delivered" not in said


def test_goods_of_a_game_server_that_nobody_takes_back(
    admin_client: Client, checkout_deliver: Deliver, settings: Any
) -> None:
    """The server has them, and hears of no refund: somebody has to."""
    pulled(settings)
    document = order_document_for(CheckoutFactory(user=User.objects.create_user("juno")))
    checkout_deliver(order=document)
    page = page_address("order", Order.objects.get())
    Grant.objects.update(acknowledged_at=timezone.now())
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    said = words(admin_client, page)
    assert (
        "No code of the shop has taken the goods back: do it by hand." in said and "Nothing to do" not in said
    )


def test_goods_that_the_shop_gave_before_a_game_server_came(
    admin_client: Client, checkout_deliver: Deliver, listen: Listening, settings: Any
) -> None:
    """They were granted and revoked, though no server has acknowledged them."""
    pulled(settings)
    listen(checkout_paid, lambda **_: None, name="shop.receivers.grant")
    listen(checkout_reversed, lambda **_: None, name="shop.receivers.revoke")
    document = order_document_for(CheckoutFactory(user=User.objects.create_user("juno")))
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.refund", {**document, "status": "refunded"}))
    said = words(admin_client, page_address("order", Order.objects.get()))
    assert "The goods were taken back" in said
    assert "revoked" in said.partition("Were the goods granted?")[2][:60]


def test_a_pause_is_said_before_every_process_knows(
    admin_client: Client, admin_user: User, checkout_deliver: Deliver, listen: Listening
) -> None:
    """A payment a second after it waits, and the order says so, with the reason."""
    listen(checkout_paid, lambda **_: None, name="shop.receivers.grant")
    record_now()
    flows.operations.pause_receiver("shop.receivers.grant", staff=admin_user, reason="the game is down")
    checkout_deliver(order=order_document_for(CheckoutFactory()))
    ReceiverRun.objects.update(state="due", finished_at=None)
    page = words(admin_client, page_address("order", Order.objects.get()))
    assert "The goods wait: staff have paused the shop's code" in page and "being delivered" not in page
    assert "Their reason: the game is down." in page
