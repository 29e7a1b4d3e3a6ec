"""Taking the steps of a batch one after the other: move, bind, judge, settle. Pure but for the locked rows it reads."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from django.db import DatabaseError

from checkout_integration.conf import Project
from checkout_integration.flows.installation import installed_at
from checkout_integration.flows.ledger.assigned import Assigned
from checkout_integration.flows.ledger.batch import LockedRows, Settlement
from checkout_integration.flows.ledger.fulfilment import carry_out, plan
from checkout_integration.flows.ledger.order_change import LockedOrder, OrderChange, PendingSignal
from checkout_integration.flows.ledger.reversals import absorb
from checkout_integration.flows.ledger.steps import NO_ADVICE, Advice, Outcome
from checkout_integration.policy.consequences import REVIEWED, new_contradictions, new_events
from checkout_integration.policy.observation import Observation, Source, Timing
from checkout_integration.policy.state import observe, unknown_words
from checkout_integration.policy.verdict import Reason, Terms, VerdictStatus, judge

logger = logging.getLogger("checkout_integration.ledger")


@dataclass(kw_only=True)
class Batch:
    """Steps that are being taken, and what they come to. Nothing of it is written yet."""

    rows: LockedRows
    advice: Advice = NO_ADVICE
    unmatched: Sequence[Observation] = ()
    changes: list[OrderChange] = field(default_factory=list)
    _change_of: dict[int, OrderChange] = field(default_factory=dict)
    _errors: dict[int, Exception] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        """Whose orders these are."""
        return self.rows.project

    @property
    def settlements(self) -> list[Settlement]:
        """What the batch means for checkouts, and for orders without one."""
        return self.rows.settlements

    @property
    def orders(self) -> list[LockedOrder]:
        """The orders that steps were taken of, in the order of their ids."""
        return [order for _, order in sorted(self.rows.orders.items()) if order.changes]

    def outcomes(self, count: int) -> list[Outcome]:
        """Return what became of each of so many steps."""
        return [self._outcome(position) for position in range(count)]

    def _outcome(self, position: int) -> Outcome:
        if position in self._errors:
            return Outcome(error=self._errors[position])
        change = self._change_of.get(position)
        return Outcome(change=change, erased=change is not None and change.order.erased)

    def take_all(self, steps: Iterable[Assigned]) -> None:
        """Take the steps in their order; those that follow each other with one cause are taken together."""
        for _, act in groupby(steps, key=lambda step: id(step.cause)):
            self._take(list(act))

    def _take(self, act: Sequence[Assigned]) -> None:
        positions: dict[int, list[int]] = {}
        groups: dict[object, list[OrderChange]] = {}
        for order_id, steps in _by_order(act):
            own = [step.position for step in steps]
            try:
                change = self._prepared(order_id, steps)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one order's failure must not stop the others
                self._errors |= dict.fromkeys(own, error)
                continue
            positions[id(change)] = own
            groups.setdefault(change.checkout.pk if change.checkout else change.order_id, []).append(change)
        for changes in groups.values():
            try:
                self.settle(changes)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one checkout's failure must not stop the others
                for change in changes:
                    self._errors |= dict.fromkeys(positions[id(change)], error)
                continue
            for change in changes:
                self._change_of |= dict.fromkeys(positions[id(change)], change)

    def settle(self, changes: Sequence[OrderChange]) -> None:
        """Settle changes of one checkout, or of one order without one, and take them. All of it, or nothing."""
        carry_out(self.rows, plan(self.rows, changes))
        self.changes += changes

    def _prepared(self, order_id: str, steps: Sequence[Assigned]) -> OrderChange:
        """Return a step's change, moved, bound and judged; the order itself stays as it is."""
        if order_id in self.advice.errors:
            raise self.advice.errors[order_id]
        order = self.rows.order(order_id)
        observations = [observation for step in steps for observation in step.observations]
        change = order.begin(observations, steps[0].cause)
        absorb(change)
        _move(self.project, change)
        self._bind(change)
        self.judge(change)
        follow(change)
        return change

    def _bind(self, change: OrderChange) -> None:
        """Find the checkout of an order that is not bound yet: by its id, by our reference, or as the shop's hook said."""
        if change.checkout is None:
            known = () if change.is_new else (Observation(source=Source.STAFF, order=change.before.order),)
            change.checkout = self.rows.checkout_named_by([*known, *change.observations])
        if change.checkout is None and change.after.settled and change.before != change.after:
            change.checkout = self.rows.checkouts.get(self.advice.checkouts.get(change.order_id, 0))

    def judge(self, change: OrderChange) -> None:
        """Decide whether the payment pays for its checkout."""
        sale = change.checkout.sale if change.checkout else None
        terms = self._terms_of_unbound if sale is None else self._terms
        change.verdict = judge(change.after, sale, terms, before=change.verdict_before)

    @cached_property
    def _terms(self) -> Terms:
        """What the settings say of payments for checkouts."""
        return Terms(
            accept_unbound=self.project.unbound_orders == "accept",
            accept_test=self.project.accept_test_payments,
            historic_margin=self.project.historic_delta,
        )

    @cached_property
    def _terms_of_unbound(self) -> Terms:
        """The same, and when this app began to watch the project, which is read for unbound orders only."""
        return replace(self._terms, installed_at=installed_at(self.project))


def _by_order(act: Sequence[Assigned]) -> Iterator[tuple[str, list[Assigned]]]:
    """Yield the orders of an act in the order of their ids, each with its steps."""
    for order_id, steps in groupby(
        sorted(act, key=lambda step: step.order_id), key=lambda step: step.order_id
    ):
        yield order_id, list(steps)


def _move(project: Project, change: OrderChange) -> None:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in change.observations:
        change.after = observe(change.after, observation, timing)
        change.incidents.extend(sorted(unknown_words(observation)))


def follow(change: OrderChange) -> None:
    """Collect what follows for this order: the service's facts, and what staff should look at."""
    change.silent = change.verdict.status is VerdictStatus.HISTORIC and change.cause.source is Source.LIST
    if change.silent:
        change.incidents.clear()
        return
    for event in new_events(change.before, change.after):
        name = event.replace(".", "_")
        change.signals.append(PendingSignal(name, (name, change.order_id)))
    in_review = change.after.stands and change.verdict.status is VerdictStatus.REVIEW
    if in_review and change.verdict != change.verdict_before:
        change.ask_for_review(change.verdict.reason)
        _log_unbound_payment(change)
    for code in new_contradictions(change.before, change.after):
        if code in REVIEWED:
            change.ask_for_review(code)
        else:
            change.incidents.append(code)


def _log_unbound_payment(change: OrderChange) -> None:
    if change.verdict.reason == Reason.UNBOUND:
        # %r: the id is the service's text, and a line end in it would forge a line of the log.
        logger.warning(
            "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
            "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
            change.order_id,
        )
