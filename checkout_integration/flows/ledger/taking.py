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
from checkout_integration.flows.ledger.entry import Entry, LockedOrder, Notice
from checkout_integration.flows.ledger.fulfilment import carry_out, plan
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
    entries: list[Entry] = field(default_factory=list)
    _entry_of: dict[int, Entry] = field(default_factory=dict)
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
        return [order for _, order in sorted(self.rows.orders.items()) if order.entries]

    def outcomes(self, count: int) -> list[Outcome]:
        """Return what became of each of so many steps."""
        return [self._outcome(position) for position in range(count)]

    def _outcome(self, position: int) -> Outcome:
        if position in self._errors:
            return Outcome(error=self._errors[position])
        entry = self._entry_of.get(position)
        return Outcome(entry=entry, erased=entry is not None and entry.order.erased)

    def take_all(self, steps: Iterable[Assigned]) -> None:
        """Take the steps in their order; those that follow each other with one cause are taken together."""
        for _, act in groupby(steps, key=lambda step: id(step.cause)):
            self._take(list(act))

    def _take(self, act: Sequence[Assigned]) -> None:
        positions: dict[int, list[int]] = {}
        groups: dict[object, list[Entry]] = {}
        for order_id, steps in _by_order(act):
            own = [step.position for step in steps]
            try:
                entry = self._prepared(order_id, steps)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one order's failure must not stop the others
                self._errors |= dict.fromkeys(own, error)
                continue
            positions[id(entry)] = own
            groups.setdefault(entry.checkout.pk if entry.checkout else entry.order_id, []).append(entry)
        for entries in groups.values():
            try:
                self.settle(entries)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  # one checkout's failure must not stop the others
                for entry in entries:
                    self._errors |= dict.fromkeys(positions[id(entry)], error)
                continue
            for entry in entries:
                self._entry_of |= dict.fromkeys(positions[id(entry)], entry)

    def settle(self, entries: Sequence[Entry]) -> None:
        """Settle entries of one checkout, or of one order without one, and take them. All of it, or nothing."""
        carry_out(self.rows, plan(self.rows, entries))
        self.entries += entries

    def _prepared(self, order_id: str, steps: Sequence[Assigned]) -> Entry:
        """Return a step's entry, moved, bound and judged; the order itself stays as it is."""
        if order_id in self.advice.errors:
            raise self.advice.errors[order_id]
        order = self.rows.order(order_id)
        observations = [observation for step in steps for observation in step.observations]
        entry = order.begin(observations, steps[0].cause)
        absorb(entry)
        _move(self.project, entry)
        self._bind(entry)
        self.judge(entry)
        follow(entry)
        return entry

    def _bind(self, entry: Entry) -> None:
        """Find the checkout of an order that is not bound yet: by its id, by our reference, or as the shop's hook said."""
        if entry.checkout is None:
            known = () if entry.is_new else (Observation(source=Source.STAFF, order=entry.before.order),)
            entry.checkout = self.rows.checkout_named_by([*known, *entry.observations])
        if entry.checkout is None and entry.after.settled and entry.before != entry.after:
            entry.checkout = self.rows.checkouts.get(self.advice.checkouts.get(entry.order_id, 0))

    def judge(self, entry: Entry) -> None:
        """Decide whether the payment pays for its checkout."""
        sale = entry.checkout.sale if entry.checkout else None
        terms = self._terms_of_unbound if sale is None else self._terms
        entry.verdict = judge(entry.after, sale, terms, before=entry.verdict_before)

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


def _move(project: Project, entry: Entry) -> None:
    timing = Timing(retry_interval=project.retry_delta, list_margin=project.list_delta)
    for observation in entry.observations:
        entry.after = observe(entry.after, observation, timing)
        entry.incidents.extend(sorted(unknown_words(observation)))


def follow(entry: Entry) -> None:
    """Collect what follows for this order: the service's facts, and what staff should look at."""
    entry.silent = entry.verdict.status is VerdictStatus.HISTORIC and entry.cause.source is Source.LIST
    if entry.silent:
        entry.incidents.clear()
        return
    for event in new_events(entry.before, entry.after):
        signal = event.replace(".", "_")
        entry.notices.append(Notice(signal, (signal, entry.order_id)))
    in_review = entry.after.stands and entry.verdict.status is VerdictStatus.REVIEW
    if in_review and entry.verdict != entry.verdict_before:
        entry.ask_for_review(entry.verdict.reason)
        _log_unbound_payment(entry)
    for code in new_contradictions(entry.before, entry.after):
        if code in REVIEWED:
            entry.ask_for_review(code)
        else:
            entry.incidents.append(code)


def _log_unbound_payment(entry: Entry) -> None:
    if entry.verdict.reason == Reason.UNBOUND:
        # %r: the id is the service's text, and a line end in it would forge a line of the log.
        logger.warning(
            "Order %r is paid and bound to no checkout of this shop, so no goods were granted. Sell with "
            "flows.create_checkout, name its checkout in Hooks.resolve_checkout, or set UNBOUND_ORDERS.",
            entry.order_id,
        )
