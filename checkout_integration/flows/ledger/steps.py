"""What the ledger is given, and what it gives back: steps and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checkout_integration.flows.ledger.cause import Cause
from checkout_integration.flows.ledger.order_change import OrderChange
from checkout_integration.policy.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one cause says of one order: a notification, or a row of a page of the list.

    Steps that follow each other with the same cause, such as the rows of a page, are taken together: what they mean for a
    checkout is settled once. Any other step is taken by itself, after those before it.
    """

    observations: tuple[Observation, ...]
    cause: Cause


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a step.

    Attributes:
        change: what changed; None for a reversal whose order is not known, and where our rules failed.
        erased: nothing personal of it may be stored.
        error: our rules, or the shop's hook, failed on it, and nothing of it was written.

    """

    change: OrderChange | None = None
    erased: bool = False
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What the shop's hooks said before anything was locked.

    Attributes:
        checkouts: keys of checkouts that `Hooks.resolve_checkout` named, by the order's id.
        accounts: keys of accounts that `Hooks.find_user` named, by the customer's identity.
        errors: of orders for which `Hooks.resolve_checkout` failed.

    """

    checkouts: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Exception] = field(default_factory=dict)


NO_ADVICE = Advice()
