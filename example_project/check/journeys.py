"""The journeys. Each returns in a few words what was seen, and raises when something is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import requests
from django.conf import settings
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.models import Checkout, Notification, Order, ReceiverRun, ValidationDecision
from checkout_integration.tasks import sync_transactions
from example_project.check.pages import Page
from example_project.check.steps import await_value, expect
from example_project.check.visitor import DECLINED_CARD, Operator, Visitor
from example_project.processes import Places
from example_project.shop.demo import BUYER, FRIEND, STAFF
from example_project.shop.models import InventoryItem, Product


class Journeys:
    """Journeys of a customer, a member of staff and an operator, who share one shop."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._buyer = Visitor(places)
        self._staff = Visitor(places)
        self._operator = Operator(places)

    def all(self) -> dict[str, Callable[[], str]]:
        """Return every journey by name, in the order in which they are made."""
        return {
            "log in": self.log_in,
            "buy gems": lambda: self.buy("gems-500", "500 gems"),
            "buy a game key": self.buy_key,
            "buy a virtual item": lambda: self.buy("ember-cloak", "Cloak of Embers"),
            "give a gift, and refund it": self.give,
            "buy as a guest, and claim it": self.claim,
            "pay by token": self.pay_by_token,
            "user.validate approved": self.validated,
            "user.validate refused": self.refused,
            "decline and try again": self.decline_and_try_again,
            "cancel": self.cancel,
            "lost notification, then sync": self.lost_notification,
            "refund takes back": lambda: self.taken_back("refund", "refunded"),
            "chargeback takes back": lambda: self.taken_back("chargeback", "chargeback"),
            "staff see the order": self.staff_see,
            "staff accept a payment without a checkout": self.staff_accept,
            "staff erase the customer": self.staff_erase,
        }

    def log_in(self) -> str:
        """Log the customer in at the shop."""
        page = self._buyer.log_in(BUYER)
        expect("the page's greeting", f"Log out {BUYER.first_name}" in page.text, True)
        return f"{BUYER.username} is in the shop"

    def buy(self, slug: str, name: str) -> str:
        """Shop, form, notification, receiver, return page, inventory."""
        checkout = self._bought(slug)
        page = self._buyer.get("/inventory/")
        expect("the inventory names it", name in page.text, True)
        return f"{name} paid by order {_order(checkout).order_id} and owned"

    def buy_key(self) -> str:
        """As `buy`; the page of the purchase and the inventory show the activation code."""
        item = InventoryItem.objects.get(checkout=self._bought("lanternfall"))
        expect(
            "the inventory shows the code",
            item.code and item.code in self._buyer.get("/inventory/").text,
            True,
        )
        return f"activation code {item.code[:5]}-… shown"

    def give(self) -> str:
        """Buy for a friend: it is in their inventory and not in the buyer's, who has the receipt; a refund takes it back."""
        page = self._buyer.come_back(self._buyer.pay(self._buyer.buy("ember-cloak", FRIEND.username)))
        self._buyer.read_until(page, f"Your gift to {FRIEND.username} is paid")
        checkout = Checkout.objects.latest("pk")
        item = self._await_item(checkout)
        friend = Visitor(self._places)
        friend.log_in(FRIEND)
        expect("the owner", item.owner.username, FRIEND.username)
        expect("the friend's inventory", "A gift" in friend.get("/inventory/").text, True)
        expect("the buyer's", "A gift" in self._buyer.get("/inventory/").text, False)
        expect("the receipt", "A gift for juno" in self._buyer.get("/purchases/").text, True)
        self._operator.ask("POST", f"orders/{checkout.order_id}/refund")
        gone = InventoryItem.objects.filter(checkout=checkout).exclude(taken_back_at=None)
        await_value("the item is taken back", gone.first)
        return f"{FRIEND.username} owned it until the refund"

    def claim(self) -> str:
        """Buy without an account: the goods wait, until the guest logs in and adds the purchase to the account."""
        guest = Visitor(self._places)
        paid = guest.come_back(guest.pay(guest.buy("tin-raven")))
        paid = guest.read_until(paid, "once you have added it to your account")
        checkout = Checkout.objects.latest("pk")
        expect("the buyer's account", checkout.user, None)
        guest.log_in(FRIEND)
        question = guest.follow(paid, "Add it to your account")
        done = guest.submit(question, question.url)
        expect("the page after it", "Tin raven belongs to your account" in done.text, True)
        expect("the owner", self._await_item(checkout).owner.username, FRIEND.username)
        return f"it waited for {FRIEND.username}, who has it now"

    def pay_by_token(self) -> str:
        """Pay by a payment token: the form creates the order, which is bound to the checkout by its reference."""
        issued = flows.create_token(
            amount=Decimal("1.50"), currency="USD", user=self._account(), subject=_product("gems-500")
        )
        self._buyer.pay(self._buyer.get(issued.payment_form_url))
        await_value(
            "an item for the token's checkout",
            lambda: InventoryItem.objects.filter(checkout=issued.checkout).first(),
        )
        return f"checkout {issued.checkout.reference[:8]}… paid"

    def validated(self) -> str:
        """Check that the shop's hook approved the purchases above."""
        decisions = ValidationDecision.objects.filter(approved=True, external_id=str(self._account().pk))
        expect("approvals of the customer are stored", decisions.count() >= 3, True)
        return (
            f"{decisions.count()} approvals, the slowest in {max(each.latency for each in decisions):.2f} s"
        )

    def refused(self) -> str:
        """Try to pay as a customer whom the shop does not know: they are refused, and nothing is paid."""
        order_id = self._order_past_the_shop("a-stranger")
        order = self._operator.ask("POST", f"orders/{order_id}/pay")
        expect("the outcome of paying", order["outcome"], "refused")
        # By the specification a refused payment cancels its order; deployed services leave it as it is.
        status = "canceled" if self._places.profile == "spec" else "created"
        expect("the order at the service", order["status"], status)
        decision = ValidationDecision.objects.get(external_id="a-stranger")
        return f"answered no: {decision.reason}"

    def decline_and_try_again(self) -> str:
        """Have a card declined and try again: a new order of the same checkout, whose goods are granted once."""
        declined = self._buyer.pay(self._buyer.buy("tin-raven"), DECLINED_CARD)
        expect("the form says so", "Payment declined" in declined.text, True)
        end = self._buyer.pay(self._buyer.submit(declined, "/form/again"))
        self._buyer.read_until(self._buyer.come_back(end), "This is yours now")
        checkout = Checkout.objects.latest("pk")
        await_value("both orders", lambda: checkout.orders.filter(status="rejected").first())
        states = sorted(checkout.orders.values_list("status", flat=True))
        expect("the orders of the checkout", states, ["processed", "rejected"])
        return "two orders, one payment, one item"

    def cancel(self) -> str:
        """Cancel an order: the page of the purchase says so, and nothing is owned."""
        end = self._buyer.submit(self._buyer.buy("moss-and-iron"), "/form/cancel")
        self._buyer.read_until(self._buyer.come_back(end), "nothing was charged")
        checkout = Checkout.objects.latest("pk")
        expect("the order", _order(checkout).status, "canceled")
        expect("items", InventoryItem.objects.filter(checkout=checkout).count(), 0)
        return "canceled, nothing owned"

    def lost_notification(self) -> str:
        """Lose the service's notification: the sync finds the payment in the list, and the goods are granted."""
        lose = {"point": "notification", "kind": "drop", "subject": "payment.success", "times": 1}
        self._operator.ask("PUT", "faults", rules=[lose])
        self._buyer.pay(self._buyer.buy("gems-1200"))
        self._operator.ask("POST", "deliver")
        checkout = Checkout.objects.latest("pk")
        known = Notification.objects.filter(object_id=checkout.order_id, event="payment.success")
        expect("notifications that arrived", known.count(), 0)
        sync_transactions.delay()
        self._await_item(checkout)
        expect("notifications that arrived", known.count(), 0)
        return "granted by the sync alone"

    def taken_back(self, action: str, status: str) -> str:
        """Reverse a payment: its goods leave the inventory, and the page of the purchase says so."""
        checkout = self._bought("ember-cloak")
        self._operator.ask("POST", f"orders/{checkout.order_id}/{action}")
        gone = InventoryItem.objects.filter(checkout=checkout).exclude(taken_back_at=None)
        await_value("the item is taken back", gone.first)
        expect("the order", _order(checkout).status, status)
        checkout.refresh_from_db()
        expect("the checkout", checkout.status, Checkout.Status.REVERSED)
        return f"order {status}, item gone"

    def staff_see(self) -> str:
        """Staff find the order in the admin, with its timeline."""
        self._staff.log_in(STAFF, "/admin/login/")
        order = Order.objects.filter(status="refunded").latest("pk")
        address = f"/admin/checkout_integration/order/{order.pk}/change/"
        listed = self._staff.get("/admin/checkout_integration/order/")
        expect("the list leads to the order", address in listed.links.values(), True)
        page = self._staff.get(address)
        for word in ("payment.success", "payment.refund"):
            expect(f"the order's page tells {word}", word in page.text, True)
        return "list and timeline"

    def staff_accept(self) -> str:
        """Accept a payment without a checkout: the receivers run for it and for its refund, and have nothing to do."""
        order_id = self._order_past_the_shop(str(self._account().pk))
        self._operator.ask("POST", f"orders/{order_id}/pay")
        in_review = Order.objects.filter(order_id=order_id, verdict="review")
        order = await_value("the order in review", in_review.first)
        page = self._staff.get(f"/admin/checkout_integration/order/{order.pk}/accept/")
        self._staff.submit(page, "/accept/", reason="Paid by phone")
        self._await_receiver(order, "checkout_paid")
        self._operator.ask("POST", f"orders/{order_id}/refund")
        self._await_receiver(order, "checkout_reversed")
        return "accepted and refunded, nothing granted"

    def staff_erase(self) -> str:
        """Links to the open form of an erased customer are gone; their checkouts stay, without personal data."""
        self._buyer.buy("moss-and-iron")
        expect("a way to the form", "Pay now" in self._buyer.get("/purchases/").text, True)
        order = _order(Checkout.objects.latest("pk"))
        page = self._staff.get(f"/admin/checkout_integration/order/{order.pk}/erase/")
        self._staff.submit(page, "/erase/", reason="requested by letter")
        expect("a way to the form", "Pay now" in self._buyer.get("/purchases/").text, False)
        return "no way to the form, the checkouts are stored"

    def _bought(self, slug: str) -> Checkout:
        page: Page = self._buyer.come_back(self._buyer.pay(self._buyer.buy(slug)))
        self._buyer.read_until(page, "This is yours now")
        checkout = Checkout.objects.latest("pk")
        expect("the verdict", _order(checkout).verdict, "verified")
        return checkout

    def _await_item(self, checkout: Checkout) -> InventoryItem:
        return await_value("the item", InventoryItem.objects.filter(checkout=checkout).first)

    def _await_receiver(self, order: Order, signal: str) -> None:
        runs = ReceiverRun.objects.filter(message__order=order, message__signal=signal)
        done = runs.filter(state=ReceiverRun.State.DONE)
        await_value(f"the receiver of {signal}", done.first)

    def _account(self) -> User:
        return User.objects.get(username=BUYER.username)

    def _order_past_the_shop(self, external_id: str) -> str:
        """Make an order for this customer that the shop does not know; return its id."""
        document = {
            "project": "brightwick",
            "type": "simple",
            "amount": 1,
            "currency": "USD",
            "user": {"external_id": external_id},
        }
        project = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
        headers = {"X-API-SIGNATURE": project["SECRET_KEY"]}
        answer = requests.post(
            f"{self._places.service}/api/v1/order", json=document, headers=headers, timeout=20
        )
        return str(answer.json()["id"])


def _order(checkout: Checkout) -> Order:
    return checkout.orders.latest("pk")


def _product(slug: str) -> Product:
    return Product.objects.get(slug=slug)
