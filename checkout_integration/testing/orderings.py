"""Delivery of the same notifications in every order of arrival: the result must not depend on it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice, permutations
from typing import Any, TypeVar

from django.db import transaction

from checkout_integration.flows.database import state_database
from checkout_integration.models import Checkout
from checkout_integration.testing.delivery import Deliver

__all__ = [
    "Orderings",
]

Outcome = TypeVar("Outcome")
Amount = TypeVar("Amount", int, Decimal)
Ordering = tuple[int, ...]


class Orderings:
    """The value of ``checkout_orderings``: delivers notifications in every sequence. The test needs the database."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def __call__(
        self,
        documents: Sequence[Mapping[str, Any]],
        outcome: Callable[[], Outcome],
        *,
        limit: int = 24,
        seed: int = 0,
        project: str = "",
    ) -> dict[Ordering, Outcome]:
        """Deliver the notifications in each sequence, always from the same state, and return each result.

        Args:
            documents: whole notifications.
            outcome: reads what is to be compared, for instance ``lambda: Order.objects.get().status``.
            limit: if there are more sequences than this, this many seeded shuffles are used instead.
            seed: of the shuffles.
            project: alias of the project whose webhook gets them; left out, the project of the checkout that each names.

        Returns:
            Positions in ``documents`` as they arrived → outcome. Expect ``set(result.values())`` to hold one value.

        """
        return {
            ordering: self._end_of([documents[position] for position in ordering], outcome, project=project)
            for ordering in orderings_of(len(documents), limit=limit, seed=seed)
        }

    def assert_same(
        self,
        documents: Sequence[Mapping[str, Any]],
        goods: Callable[[], Amount],
        *,
        at_most: Amount,
        limit: int = 24,
        seed: int = 0,
        project: str = "",
    ) -> Amount:
        """Assert that the goods at the end do not depend on the sequence, and are never more than they may be.

        Each notification is delivered twice: after the last one, the whole sequence comes again.

        Args:
            documents: whole notifications.
            goods: returns how much is granted, as your shop counts it.
            at_most: the most that may be granted after any delivery, for instance what one payment grants.
            limit: if there are more sequences than this, this many seeded shuffles are used instead.
            seed: of the shuffles.
            project: alias of the project whose webhook gets them; left out, the project of the checkout that each names.

        Returns:
            The goods at the end.

        """

        def check(events: str) -> None:
            granted = goods()
            assert granted <= at_most, f"{granted} granted, which is more than {at_most}: {events}, or again."

        ends: dict[Amount, str] = {}
        for ordering in orderings_of(len(documents), limit=limit, seed=seed):
            arrived: list[Mapping[str, Any]] = [documents[position] for position in ordering]
            events = ", ".join(str(document["event"]) for document in arrived)
            end = self._end_of([*arrived, *arrived], goods, partial(check, events), project=project)
            ends.setdefault(end, events)
        shown = "; ".join(f"{end} after {events}" for end, events in ends.items())
        assert len(ends) == 1, f"The end depends on the order of arrival: {shown}."
        (end,) = ends
        return end

    def _end_of(
        self,
        documents: Sequence[Mapping[str, Any]],
        outcome: Callable[[], Outcome],
        check: Callable[[], None] = lambda: None,
        *,
        project: str,
    ) -> Outcome:
        with transaction.atomic(using=state_database()):
            for document in documents:
                answer = self._deliver(document, project=project or _project_of(document))
                assert answer.status_code == 200, f"a notification was answered {answer.status_code}"
                check()
            ended = outcome()
            # The next order begins where this one began.
            transaction.set_rollback(True, using=state_database())
        return ended


def _project_of(document: Mapping[str, Any]) -> str:
    """Return the project of the checkout that a notification names: at another one's webhook it would pay for nothing."""
    named = (document.get("object") or {}).get("metadata") or {}
    checkouts = Checkout.objects.filter(reference__in=[str(each) for each in named.values()])
    return checkouts.values_list("project", flat=True).first() or "default"


def orderings_of(count: int, *, limit: int, seed: int) -> Iterator[Ordering]:
    """Return every sequence of ``count`` things, or ``limit`` different random ones if there are more."""
    if math.factorial(count) <= limit:
        return permutations(range(count))
    return islice(_shuffles(count, random.Random(seed)), limit)  # noqa: S311 -- repeatable on purpose


def _shuffles(count: int, source: random.Random) -> Iterator[Ordering]:
    """Yield different orders: as given, backwards, then by chance."""
    seen = {tuple(range(count)), tuple(reversed(range(count)))}
    yield from sorted(seen)
    while True:
        ordering = tuple(source.sample(range(count), count))
        if ordering not in seen:
            seen.add(ordering)
            yield ordering
