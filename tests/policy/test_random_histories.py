"""Random histories of a checkout, in two orders of arrival each: policy alone, so that there can be very many."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from itertools import combinations, permutations
from typing import Any, Final

from checkout_integration.models import Checkout
from checkout_integration.policy.binding import CheckoutValue
from checkout_integration.policy.fulfilment import fulfilment_of, grant_changes, owned_until, payment_of
from checkout_integration.policy.moments import stamp
from checkout_integration.policy.observation import Observation, Timing
from checkout_integration.policy.reversal_documents import reversal_of
from checkout_integration.policy.state import OrderState, observe
from checkout_integration.policy.verdict import PENDING, Reason, Terms, Verdict, VerdictStatus, judge
from checkout_integration.protocol.values import parse_moment
from tests.support.policy.checkouts import PAYS_SIMPLE, SIMPLE
from tests.support.policy.observations import at, message, row, written
from tests.support.scale import times

HISTORIES: Final = times(1_500, 100_000, quick_run=300)
SETS: Final = times(20, 10_000, quick_run=5)
WAYS: Final = times(1, 8)  # in which the events of a set come, by chance
SEED: Final = 20261122
TERMS: Final = Terms()
TIMING: Final = Timing(retry_interval=timedelta(seconds=600))
OrderObservation = tuple[str, Observation]


@dataclass
class Shop:
    """One checkout in memory: states of its orders, open grants, and how often goods were granted and revoked."""

    checkout: CheckoutValue = SIMPLE
    states: dict[str, OrderState] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    grants: dict[int, str] = field(default_factory=dict)
    opened: int = 0

    def take(self, order_id: str, observation: Observation) -> None:
        """Apply one observation, and settle the checkout as the ledger does."""
        state = self.states.get(order_id, OrderState())
        self.states[order_id] = observe(state, observation, TIMING)
        for each, state in self.states.items():
            self.verdicts[each] = judge(state, self.checkout, TERMS, before=self.verdicts.get(each, PENDING))
        self.settle()

    def decide(self, verdict: Verdict, order_ids: Iterable[str]) -> None:
        """Let staff decide about payments."""
        self.verdicts |= dict.fromkeys(order_ids, verdict)
        self.settle()

    def settle(self) -> None:
        """Open and close grants by the payments as they are."""
        payments = [payment_of(each, state, self.verdicts[each]) for each, state in self.states.items()]
        changes = grant_changes(fulfilment_of(payments), payments, self.grants.items())
        self.grants = dict(changes.payers)
        for line in changes.opened:
            self.opened += 1
            self.grants[self.opened] = line.payer
        self.fulfilment = fulfilment_of(payments)

    @property
    def end(self) -> tuple[object, ...]:
        """What must not depend on the order of arrival."""
        statuses = sorted((order_id, state.status.value) for order_id, state in self.states.items())
        return statuses, self.fulfilment, sorted(self.grants.values())


def histories() -> Iterator[list[OrderObservation]]:
    """Up to five of what can happen to a checkout and its orders, by notification or from the list."""
    source = random.Random(SEED)
    for _ in range(HISTORIES):
        events = source.sample(sorted(MAKERS), source.randint(1, 5))
        yield [MAKERS[event](source) for event in events]


def an_order(created: float, **more: Any) -> dict[str, Any]:
    """The fields that an order has in each of its documents."""
    price = {"charge_amount": Decimal("9.99"), "charge_currency": "USD"}
    return {**PAYS_SIMPLE, **price, "created_at": written(at(created)), **more}


def either(source: random.Random, event: str, status: str, minutes: float, **document: Any) -> Observation:
    """A notification with some delivery attempts behind it, or a row that was read some time later."""
    if source.random() < 0.5:
        return message(event, minutes + 10 * (late := source.randint(0, 3)), delivery_try=late, **document)
    return row(status, minutes + source.randint(1, 200), **document)


def success(order_id: str, created: float, **more: Any) -> Any:
    """A payment of this order."""

    def make(source: random.Random) -> OrderObservation:
        order = an_order(created, id=order_id, **more)
        return order_id, either(source, "payment.success", "processed", created + 2, **order)

    return make


def reversal(status: str, minutes: float, amount: str, name: str) -> Any:
    """A refund or chargeback of the first order, stated by a notification or as a document of its own."""

    def make(source: random.Random) -> OrderObservation:
        refund = {"amount": Decimal(amount), "currency": "USD"}
        back = written(at(minutes)) if status == "refunded" else ""
        order = an_order(0, id="first", status=status, refund=refund, refunded_at=back, **AGREEMENT)
        event = "payment.refund" if status == "refunded" else "payment.chargeback"
        if source.random() < 0.5:
            return "first", message(event, minutes, **order)
        listed = row(status, minutes + 60, **{**order, "id": name, "created_at": written(at(minutes))})
        return "first", reversal_of("first", listed)

    return make


def cancel(source: random.Random) -> OrderObservation:
    """The first order is cancelled, perhaps beside its success."""
    order = an_order(0, id="first", canceled_at=written(at(3)), **AGREEMENT)
    return "first", either(source, "payment.cancel", "canceled", 3, **order)


AGREEMENT: Final = {"recurring": True, "recurring_id": "agreement"}
MAKERS: Final = {
    "success": success("first", 0, **AGREEMENT),
    "try again": success("again", 4),
    "renewal": success("renewal", 30, **AGREEMENT),
    "renewal of another": success("other", 40, recurring=True, recurring_id="another"),
    "refund": reversal("refunded", 50, "9.99", "refund"),
    "first part": reversal("refunded", 20, "5.00", "part-1"),
    "second part": reversal("refunded", 25, "4.99", "part-2"),
    "chargeback": reversal("chargeback", 60, "9.99", "chargeback"),
    "cancel": cancel,
}


def ended(observations: Sequence[OrderObservation]) -> Shop:
    """The shop after all of it."""
    shop = Shop()
    for order_id, observation in observations:
        shop.take(order_id, observation)
    return shop


def test_every_history_ends_alike_in_any_order() -> None:
    """One status of each order and of the checkout, and the same orders with goods."""
    source = random.Random(SEED + 1)
    for observations in histories():
        one = ended(observations)
        other = ended(source.sample(observations, len(observations)))
        assert one.end == other.end, observations
        assert len(one.grants) == sum(bool(line.payer) for line in one.fulfilment.lines), observations


def test_every_order_of_every_set_ends_alike() -> None:
    """Each set of up to five events, in every order of arrival; in a run of every day some of the sets."""
    source = random.Random(SEED)
    every = [events for size in range(1, 6) for events in combinations(sorted(MAKERS), size)]
    for events in source.sample(every, min(SETS, len(every))):
        for _ in range(WAYS):
            observations = [MAKERS[event](source) for event in events]
            ends = [ended(order).end for order in permutations(observations)]
            assert all(end == ends[0] for end in ends), observations


REVOKED: Final = Verdict(VerdictStatus.REVOKED, Reason.BY_STAFF)
ACCEPTED: Final = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)


def revoked(shop: Shop) -> set[str]:
    """Let staff revoke the goods of the first order, as the ledger does: by all payments for them that are known."""
    first = next((line for line in shop.fulfilment.lines if "first" in line.order_ids), None)
    paying = (
        {each for each in first.order_ids if shop.verdicts[each].pays and shop.states[each].stands}
        if first
        else set()
    )
    shop.decide(REVOKED, paying)
    return paying


def test_no_later_observation_undoes_a_revocation() -> None:
    """Whatever comes after it, none of those payments has goods again: only one that was not known then has some."""
    source, tried = random.Random(SEED + 2), 0
    for observations in histories():
        known = source.randint(1, len(observations))
        shop = ended(observations[:known])
        paying = revoked(shop)
        tried += bool(paying)
        assert paying.isdisjoint(shop.grants.values()), observations
        for order_id, observation in [*observations[known:], *observations]:  # and all of it once more
            shop.take(order_id, observation)
        assert paying.isdisjoint(shop.grants.values()), observations
        assert {shop.verdicts[each] for each in paying} <= {REVOKED}, observations
    assert tried > HISTORIES / 4


def test_what_staff_give_again_is_the_next_grant() -> None:
    """Once for each payment, while its money is with the shop; no observation that was known opens another one."""
    for observations in histories():
        shop = ended(observations)
        paying, opened = revoked(shop), shop.opened
        shop.decide(ACCEPTED, sorted(paying)[:1])
        assert shop.opened == opened + bool(paying), observations
        for order_id, observation in observations:
            shop.take(order_id, observation)
        assert shop.opened == opened + bool(paying), observations


def test_what_stands_is_owned_and_nothing_else() -> None:
    """By the recipient of a gift, else by the buyer, who may change: by a claim, by a link, and by undoing either."""
    source = random.Random(SEED + 3)
    for observations in histories():
        shop, recipient = Shop(), source.choice([None, "recipient"])
        sold = Checkout(gift=recipient is not None, recipient_id=recipient)
        for number, (order_id, observation) in enumerate(observations):
            shop.take(order_id, observation)
            if number == source.randrange(len(observations)):
                revoked(shop)
            sold.user_id = source.choice([None, "buyer", "who claimed it"])
            pays = [
                each
                for each, state in shop.states.items()
                if state.stands
                and shop.verdicts[each].status in (VerdictStatus.VERIFIED, VerdictStatus.ACCEPTED)
            ]
            sold.status = str(shop.fulfilment.status)
            owner = sold.owner_id if sold.status == Checkout.Status.PAID else None
            assert owner == ((recipient or sold.user_id) if pays else None), observations


def test_what_is_owned_for_some_days_ends_after_the_last_payment_that_stands() -> None:
    """In any order of arrival, with reversals and revocations: as counted by hand from the payments alone."""
    source = random.Random(SEED + 4)
    for observations in histories():
        shop = ended(source.sample(observations, len(observations)))
        if source.random() < 0.3:
            revoked(shop)
        payments = [payment_of(each, state, shop.verdicts[each]) for each, state in shop.states.items()]
        stands = [each for each in payments if each.stands and shop.verdicts[each.order_id].pays]
        until = owned_until(payments, 31)
        assert (until is None) == (str(shop.fulfilment.status) != Checkout.Status.PAID), observations
        if until is not None:
            latest = max(each.moment for each in stands)
            assert stamp(until - timedelta(days=31)) == stamp(parse_moment(latest)), observations
