"""The order's page as a story: what to do and its button, what happened in the shop's words, and the way to the service."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from checkout_integration.models import Grant, Incident, Order, OutboxMessage, Transition
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.admin.test_orders import SPACE, page_of
from tests.support.admin import rows
from tests.support.admin.screens import page_address
from tests.support.flows.shop import notification

pytestmark = pytest.mark.django_db


def _checked(**columns: Any) -> Order:
    return rows.make_order(
        checkout=rows.make_checkout(), user=rows.make_customer(f"player-{rows.next_number()}"), **columns
    )


def _failing() -> Order:
    order = _checked()
    rows.make_granting_run(order)
    return order


STATES: dict[str, tuple[Callable[[], Order], str]] = {
    "other amount": (lambda: _checked(verdict="review", verdict_reason="amount"), "accept"),
    "no checkout": (lambda: rows.make_order(verdict="review", verdict_reason="unbound"), "bind"),
    "failing": (_failing, "run"),
    "not paid": (lambda: _checked(status="created", verdict="pending"), "check"),
    "well": (_checked, "check"),
    "refunded": (lambda: _checked(status="refunded"), "check"),
}


@pytest.mark.parametrize("state", STATES)
def test_one_button_stands_out_by_the_state(admin_client: Client, state: str) -> None:
    """All others are under "More", and dangerous ones apart from them."""
    make, name = STATES[state]
    html = page_of(admin_client, make())
    top, _more, folded = html.partition('<details class="ci-acts">')
    (primary,) = re.findall(r'class="button default"', top.partition('class="ci-buttons"')[2])
    assert f'/{name}/"' in top.partition('class="ci-buttons"')[2].partition("</div>")[0] and primary
    folded = folded.partition("</details>")[0]
    usual, _apart, dangers = folded.partition("ci-apart")
    assert "/note/" in usual and "ci-danger" not in usual and "evidence" in usual
    assert "/erase/" in dangers and "/note/" not in dangers


def test_who_may_not_press_the_first_button_gets_the_next(client: Client) -> None:
    """A page whose only button is folded away would hide it."""
    client.force_login(rows.make_staff("view_order", "add_note"))
    html = page_of(client, STATES["other amount"][0]())
    assert "/note/" in html and "ci-acts" not in html


def test_what_needs_somebody_says_since_when(admin_client: Client) -> None:
    """And what is done says when it was delivered."""
    assert "Somebody has to decide" in (html := page_of(admin_client, STATES["other amount"][0]()))
    assert re.search(r"checkout’s|checkout&#x27;s", html) and "Since <time" in html
    order = _checked()
    rows.make_run(order)
    assert re.search(r"Delivered <time.*?12:00:00.*?Nothing to do\.", page_of(admin_client, order))
    without = rows.make_order()
    rows.make_run(without)
    assert "Delivered <time" not in page_of(admin_client, without)


def _taken_back(order: Order) -> Order:
    """Its goods were delivered, and taken back."""
    grant = Grant.objects.create(
        key=order.order_id, project="default", order=order, checkout=order.checkout, number=1, state="closed"
    )
    for signal in ("checkout_paid", "checkout_reversed"):
        rows.make_run(order, signal=signal)
    OutboxMessage.objects.filter(order=order).update(grant=grant)
    return order


def _given_back(order: Order) -> Order:
    """Its goods were taken back by staff, and delivered again."""
    _taken_back(order)
    again = Grant.objects.create(
        key="again", project="default", order=order, checkout=order.checkout, number=2, state="open"
    )
    run = rows.make_run(order)
    OutboxMessage.objects.filter(pk=run.message_id).update(grant=again)
    return order


@pytest.mark.parametrize(
    ("order", "sentence", "goods"),
    [
        (
            lambda: _taken_back(_checked(status="refunded", refunded_at=rows.NOON)),
            "Refunded 2026-03-04 12:00:00. The goods were taken back 2026-03-04 12:00:00. Nothing to do.",
            "revoked",
        ),
        (
            lambda: _taken_back(_checked(status="chargeback", refunded_at=rows.NOON)),
            "Charged back 2026-03-04 12:00:00. The goods were taken back 2026-03-04 12:00:00. To contest it at the bank",
            "revoked",
        ),
        (
            lambda: _taken_back(_checked(verdict="revoked", verdict_reason="by_staff")),
            "“Accept this payment” gives them back. The goods were taken back 2026-03-04 12:00:00. Nothing to do.",
            "revoked",
        ),
        (
            lambda: _given_back(_checked(verdict="accepted", verdict_reason="by_staff")),
            "Delivered 2026-03-04 12:00:00. Nothing to do.",
            "granted",
        ),
    ],
)
def test_what_became_of_the_goods(
    admin_client: Client, order: Callable[[], Order], sentence: str, goods: str
) -> None:
    """By the newest grant: sentence and box say the same, and nobody is said to have accepted what was revoked."""
    html = page_of(admin_client, order())
    shown = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", html)).replace("\N{NO-BREAK SPACE}", " ")
    assert sentence in shown
    (box,) = re.findall(r"Were the goods granted\? (.{0,40})", shown)
    assert goods in box.split(), box
    assert "member of staff accepted" not in shown


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ("worker", "The goods are being delivered."),
        ("request", "The goods wait: the shop&#x27;s code runs with the next notification."),
    ],
)
def test_what_is_on_its_way_is_said(admin_client: Client, settings: Any, runner: str, said: str) -> None:
    """Not that there is nothing to do, nor that something runs where nothing does."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": runner}
    order = _checked()
    rows.make_run(order, state="due", finished_at=None, attempts=0)
    assert said in (html := page_of(admin_client, order)).replace("&#39;", "&#x27;")
    assert "Nothing to do." not in html


def story(client: Client, order: Order) -> list[tuple[str, str]]:
    """What happened: time, and the text with its actor."""
    page = client.get(page_address("order", order)).context["page"]
    return [
        (each.at.strftime("%H:%M"), re.sub("<[^>]+>", "", f"{each.text} | {each.actor}"))
        for each in page["story"]
    ]


def _learned_by_list(order: Order, **columns: Any) -> None:
    given = {"from_status": "", "to_status": "processed", "source": "list"}
    Transition.objects.create(order=order, **{**given, **columns})


@pytest.mark.spec("ORD-06", "STA-03")
def test_what_the_list_showed_later_has_the_time_of_the_service(admin_client: Client) -> None:
    """The service's time, ours beside it; newest last; how the app learned it is in the engine room."""
    paid_at = (rows.NOON + timedelta(minutes=9)).isoformat()
    facts = {"slots": {"processed/notification": {"at": paid_at}}}
    order = _checked(facts=facts)
    _learned_by_list(order)
    rows.make_run(order, finished_at=datetime.now(UTC) + timedelta(minutes=1))
    rows.make_run(order, signal="payment_success", receiver="shop.count")
    rows.make_notification(order.order_id)
    ordered, paid, delivered = story(admin_client, order)
    assert (ordered, paid) == (("12:00", "ordered | "), ("12:09", "paid | the sync"))
    assert delivered[1] == "delivery | shop.receivers.grant"
    html = page_of(admin_client, order)
    shown, _more, engine = html.partition('<details class="ci-engine">')
    assert "learned here" in shown
    for words in ("payment_success", "payment.success", "signal"):
        assert words in engine and words not in shown.partition('id="ci-timeline"')[2]


@pytest.mark.spec("ORD-06", "ORD-11")
def test_times_that_may_be_of_another_change_are_ours(admin_client: Client) -> None:
    """An order that was refunded twice has one time of refund at most."""
    order = _checked(status="refunded", refunded_at=rows.NOON)
    for before in ("processed", "canceled"):
        _learned_by_list(order, from_status=before, to_status="refunded")
    ordered, *refunded = admin_client.get(page_address("order", order)).context["page"]["story"]
    assert ordered.at == rows.NOON and {each.at > rows.NOON for each in refunded} == {True}


def test_a_run_without_a_checkout_is_called_no_delivery(admin_client: Client) -> None:
    """It does not learn what was sold."""
    order = rows.make_order()
    rows.make_run(order)
    assert [text for _at, text in story(admin_client, order)][-1] == (
        "code of the shop, without a checkout | shop.receivers.grant"
    )


@pytest.mark.spec("ORD-01")
def test_the_order_is_opened_at_the_service(admin_client: Client, settings: Any) -> None:
    """By its id, escaped for an address; without the setting there is no link."""
    order = rows.make_order("order/1?x")
    assert "Open at the service" not in page_of(admin_client, order)
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ORDER_URL": "https://service.invalid/orders/{order_id}?tab=1&x=2",
    }
    html = page_of(admin_client, order)
    assert (
        'href="https://service.invalid/orders/order%2F1%3Fx?tab=1&amp;x=2" rel="noopener noreferrer"' in html
    )
    Order.objects.filter(pk=order.pk).update(project="gone")
    assert "Open at the service" not in page_of(admin_client, order)


def test_account_and_object_of_the_shop_are_links(client: Client) -> None:
    """To the shop's own pages in the admin, for those who may view them there."""
    robin = User.objects.create_user("robin")
    kind = ContentType.objects.get_for_model(User)
    checkout = rows.make_checkout(user=robin, subject_type=kind, subject_id=str(robin.pk))
    order = rows.make_order(checkout=checkout)
    sees = rows.make_staff("view_order")
    client.force_login(sees)
    address = f'href="/admin/auth/user/{robin.pk}/change/"'
    html = page_of(client, order)
    assert "robin" in html and address not in html
    sees.user_permissions.add(Permission.objects.get(codename="view_user"))
    assert page_of(client, order).count(address) == 2


def test_a_chargeback_has_its_day(admin_client: Client, checkout_deliver: Deliver) -> None:
    """The order does not say it, but its chargeback does: a bank's time limit counts from it."""
    document = order_document_for(CheckoutFactory())
    checkout_deliver(order=document)
    checkout_deliver(notification("payment.chargeback", {**document, "status": "chargeback"}))
    order = Order.objects.get()
    day = datetime(2026, 3, 1, 18, 55, tzinfo=UTC)
    Order.objects.update(refunded_at=None)
    order.refunds.all().delete()
    rows.make_refund(order, status="chargeback", refunded_at=day)
    html = page_of(admin_client, order)
    sentence = html.partition(" To contest it")[0][-400:]
    assert "2026-03-01" in sentence and "18:55" in sentence
    assert html.count("2026-03-01") >= 3  # in the sentence, the timeline, and the table of reversals


def test_who_resolved_an_incident_is_said(admin_client: Client, admin_user: User) -> None:
    """With the time: the moment itself is when this app has opened it."""
    order = rows.make_order()
    incident = rows.make_incident(order)
    at = datetime(2026, 3, 5, 7, 8, tzinfo=UTC)
    Incident.objects.filter(pk=incident.pk).update(resolved_at=at, staff=admin_user)
    html = page_of(admin_client, order)
    line = html.partition("resolved <time")[2].partition("</")[0:3]
    assert "2026-03-05" in "".join(line)
    assert f"by {admin_user.get_username()}" in html


def test_a_refund_of_a_part_is_not_one_of_all(admin_client: Client) -> None:
    """In the list of orders and on the page of the customer, as on its own page."""
    customer = rows.make_customer()
    rows.make_order(user=customer, status="refunded", partly_refunded=True)
    for address in (
        reverse("admin:checkout_integration_order_changelist"),
        page_address("checkoutuser", customer),
    ):
        assert "partly refunded" in admin_client.get(address).content.decode(), address


def test_money_is_given_back_at_the_service(admin_client: Client, settings: Any) -> None:
    """The page says so beside the button that only takes goods, and beside a second payment, with its amount."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ORDER_URL": "https://service.invalid/orders/{order_id}",
    }
    customer = rows.make_customer()
    order, second = rows.make_order(user=customer), rows.make_order(user=customer)
    where = (
        "Money is given back at the service only. After a refund of all of it the shop&#x27;s code takes back what was "
        "delivered. "
        '<a href="https://service.invalid/orders/{}" rel="noopener noreferrer">Open at the service</a>'
    )
    html = page_of(admin_client, order)
    group = html.partition("With consequences")[2].partition("</div>")[0]
    assert "Revoke the goods" in group and where.format(order) in group
    note = html.partition("paid for the same product in another order too")[2].partition("</p>")[0]
    assert f"(9.99{SPACE}USD, paid). {where.format(second)}" in note
    assert "perhaps one of them is too many" in html and "Nothing to do." not in html
    gone = rows.make_order(status="chargeback")
    assert "Money is given back" not in page_of(admin_client, gone)


@pytest.mark.parametrize("hours", [0, 9])
def test_a_time_that_the_service_has_not_said_is_not_that_of_the_payment(
    admin_client: Client, hours: int
) -> None:
    """What the list has shown hours later is paid at an unknown time; what was notified at once is not."""
    ordered = datetime.now(UTC) - timedelta(hours=hours)
    order = rows.make_order(created_at=ordered, facts={"slots": {}})
    Transition.objects.create(order=order, from_status="created", to_status="processed", source="list")
    unknown = "the service has not said when it was paid"
    assert (unknown in page_of(admin_client, order)) is bool(hours)


def test_a_refund_says_of_how_much_it_is_a_part(admin_client: Client) -> None:
    """In the list, where the order is a link; all of it needs no such words."""
    part, whole = rows.make_order(amount="9.99"), rows.make_order(amount="9.99")
    rows.make_refund(part, amount="1.00", currency="USD")
    rows.make_refund(whole, amount="9.99", currency="USD")
    page = admin_client.get("/admin/checkout_integration/refund/").text.replace(SPACE, " ")
    assert page.count("1.00 USD of 9.99 USD") == 1 and " of 9.99 USD" not in page.replace(
        "1.00 USD of 9.99 USD", ""
    )
    assert f'<a href="{page_address("order", part)}">' in page


def test_a_renewal_is_no_second_payment(admin_client: Client) -> None:
    """Not even one that was declined; another agreement of the same customer is."""
    customer = rows.make_customer()
    first = rows.make_order(user=customer, recurring_id="agreement-1")
    declined = rows.make_order(user=customer, recurring_id="agreement-1", status="rejected")
    assert all("in another order too" not in page_of(admin_client, each) for each in (first, declined))
    rows.make_order(user=customer, recurring_id="agreement-2")
    assert "in another order too" in page_of(admin_client, first)


def test_a_receipt_without_a_number_is_at_the_service(admin_client: Client) -> None:
    """The question where it is has no dash for an answer then."""
    order = rows.make_order(receipt_number="")
    box = page_of(admin_client, order).partition("Where is the receipt?</dt>")[2].partition("</div>")[0]
    assert "–" not in box and "at the service" in box
    assert box.count("https://service.example/receipts/R-0001") == 2


def test_what_was_given_up_and_reversed_since_is_not_to_be_granted(admin_client: Client) -> None:
    """Nobody waits for goods whose payment went back: the button ends the run, and the page says so before."""
    order = _failing()
    Grant.objects.update(state="closed", closed_at=datetime.now(UTC))
    Order.objects.filter(pk=order.pk).update(status="refunded")
    page = page_of(admin_client, order)
    assert "there is nothing to grant any more. Run the code once" in page
    assert "an engineer finds the place" not in page
