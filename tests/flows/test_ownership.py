"""Who owns what, over random histories of gifts, claims, links, reversals and decisions of staff."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.contrib.auth.models import User

from checkout_integration import flows
from checkout_integration.flows.checkout import claim
from checkout_integration.flows.operations import undo_claim
from checkout_integration.models import Checkout, CheckoutUser, Order
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from tests.support.flows.shop import notification, record_listed
from tests.support.scale import times

pytestmark = pytest.mark.django_db
SEEDS: Final = times(4, 40, quick_run=2)
STEPS: Final = 40
GUEST: Final = "service-7"


@dataclass
class Purchase:
    """What the shop sold, and what has really happened to it."""

    checkout: Checkout
    document: dict[str, Any]
    buyer: User | None
    recipient: User | None
    by_guest: bool
    state: str = "open"
    claimed: bool = False

    @property
    def order(self) -> Order:
        """Its payment."""
        return Order.objects.get(order_id=self.document["id"])


class Play:
    """Accounts, a guest whom staff may link, and nobody in particular; each act says what it really does."""

    ACTS: Final = (
        "sell sell pay pay pay refund chargeback restore revoke accept claim unclaim link unlink again listed"
    ).split()

    def __init__(self, deliver: Deliver, seed: int) -> None:
        self.deliver, self.draw = deliver, random.Random(seed)
        self.staff = User.objects.create_user("grace")
        self.accounts = [User.objects.create_user(f"player-{number}") for number in range(3)]
        self.purchases: list[Purchase] = []
        self.linked: User | None = None

    def step(self) -> str:
        """Do something."""
        act = self.draw.choice(self.ACTS)
        getattr(self, act)()
        return act

    def one(self, *states: str) -> Purchase | None:
        """A purchase in one of these states."""
        found = [each for each in self.purchases if each.state in states]
        return self.draw.choice(found) if found else None

    def sell(self) -> None:
        """To an account, to the guest who may be linked, or to a nameless one; perhaps as a gift."""
        buyer = self.draw.choice([*self.accounts, None, None])
        recipient = self.draw.choice([None, *self.accounts])
        by_guest = buyer is None and self.draw.random() < 0.5
        recipient = None if recipient == buyer else recipient
        checkout = CheckoutFactory(user=buyer, recipient=recipient, gift=recipient is not None)
        document = order_document_for(checkout)
        user = {"id": GUEST} if by_guest else {"external_id": str(buyer.pk)} if buyer else None
        self.purchases.append(
            Purchase(checkout, {**document, "user": user}, buyer, recipient, by_guest=by_guest)
        )

    def pay(self) -> None:
        """A success is notified."""
        if each := self.one("open"):
            self.deliver(order=each.document)
            each.state = "paid"

    def listed(self) -> None:
        """The list shows a success that was never notified."""
        if each := self.one("open"):
            record_listed([each.document])
            each.state = "paid"

    def again(self) -> None:
        """The success comes once more, whatever happened since."""
        if each := self.one("paid", "reversed", "revoked", "restored"):
            self.deliver(order=each.document)

    def refund(self) -> None:
        """In full."""
        self._reverse("payment.refund", "refunded")

    def chargeback(self) -> None:
        """By the bank."""
        self._reverse("payment.chargeback", "chargeback")

    def _reverse(self, event: str, status: str) -> None:
        if each := self.one("paid"):
            self.deliver(notification(event, {**each.document, "status": status}))
            each.state = "reversed"

    def restore(self) -> None:
        """A dispute was won."""
        if each := self.one("reversed"):
            flows.operations.restore_payment(each.order, staff=self.staff, reason="won")
            each.state = "restored"

    def revoke(self) -> None:
        """By hand."""
        if each := self.one("paid"):
            flows.operations.revoke_payment(each.order, staff=self.staff, reason="sold on")
            each.state = "revoked"

    def accept(self) -> None:
        """The revocation is undone."""
        if each := self.one("revoked"):
            flows.operations.accept_payment(each.order, staff=self.staff, reason="a brother")
            each.state = "restored"

    def claim(self) -> None:
        """A nameless guest's purchase, by an account; of anything else nothing is claimed."""
        if each := self.one("paid", "restored", "open", "reversed"):
            account = self.draw.choice(self.accounts)
            possible = each.buyer is None and not each.by_guest and each.state in ("paid", "restored")
            if each.by_guest:
                return
            has_it = each.buyer == account and each.state in ("paid", "restored")
            assert claim(each.checkout, account) == (possible or has_it)
            if possible:
                each.buyer, each.claimed = account, True

    def unclaim(self) -> None:
        """Staff undo it."""
        if each := self.one("paid", "restored", "reversed", "revoked"):
            assert undo_claim(each.checkout, staff=self.staff, reason="another") == each.claimed
            if each.claimed:
                each.buyer, each.claimed = None, False

    def link(self) -> None:
        """Staff link the guest to an account."""
        account = self.draw.choice(self.accounts)
        if (guest := CheckoutUser.objects.filter(user_id=GUEST).first()) is not None:
            flows.operations.link_account(guest, account, staff=self.staff, reason="their receipt")
            self.linked = account

    def unlink(self) -> None:
        """Staff undo the link."""
        if (guest := CheckoutUser.objects.filter(user_id=GUEST).first()) is not None:
            flows.operations.unlink_account(guest, staff=self.staff, reason="another")
            self.linked = None

    def owner(self, each: Purchase) -> User | None:
        """Who really owns a purchase."""
        if each.state not in ("paid", "restored"):
            return None
        return each.recipient or (self.linked if each.by_guest else each.buyer)

    def compare(self, history: list[str]) -> None:
        """Nobody owns what is reversed or revoked, and nobody lacks what stands."""
        for account in self.accounts:
            real = {each.checkout.pk for each in self.purchases if self.owner(each) == account}
            owned = Checkout.objects.owned_by(account)
            assert set(owned.values_list("pk", flat=True)) == real, history
            assert {each.owner_id for each in owned} <= {account.pk}, history


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_history_of_purchases_and_gifts(checkout_deliver: Deliver, seed: int) -> None:
    """After each act, for each account, by the shop's own question."""
    play, history = Play(checkout_deliver, seed), list[str]()
    for _ in range(STEPS):
        history.append(play.step())
        play.compare(history)
