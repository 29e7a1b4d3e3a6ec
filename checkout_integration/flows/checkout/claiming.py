"""A guest's purchase, claimed by the account that is logged in: by the signed return address, once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.flows.database import with_retries
from checkout_integration.flows.outbox import make_postponed_due
from checkout_integration.models import Checkout

UNCLAIMED: Final = {
    "user": None,
    "claimed_at": None,
    "identity": "",
    "erased_at": None,
    "status": Checkout.Status.PAID,
}
"""Nobody's: bought as a guest, paid, and not erased. A checkout with an identity has a customer of its own.

What was claimed by an account that is deleted now stays claimed, until staff undo it.
"""


def is_claimable(checkout: Checkout) -> bool:
    """Return whether a claim would succeed: the checkout is paid, and was bought as a guest whom no account has claimed."""
    return all(getattr(checkout, name) == value for name, value in UNCLAIMED.items())


def claim(checkout: Checkout, account: AbstractBaseUser) -> bool:
    """Give a guest's paid checkout to an account, which then owns it. Return False where it is not claimable any more.

    It is True too where the account has it already: people press a button twice.
    Call it for the checkout of a signed reference (`checkout_of`), which only the buyer has; never by an e-mail address
    alone. Receivers that wait (`RetryLater`), or have waited in vain, are due at once: it may be for an owner. No other runs.
    Answer with `DispatchingRedirect` or `JsonDispatchingResponse`, so that they need not wait for the next notification.
    """
    # RACE: two accounts claim at once, or staff link the guest meanwhile: it is written where it still is nobody's.
    rows = Checkout.primary.filter(pk=checkout.pk)
    unclaimed, now = rows.filter(**UNCLAIMED), datetime.now(UTC)
    claimed = bool(with_retries(lambda: unclaimed.update(user_id=account.pk, claimed_at=now)))
    if claimed:
        make_postponed_due(rows)
        checkout.user, checkout.claimed_at = account, now
    return claimed or rows.filter(user_id=account.pk, status=Checkout.Status.PAID).exists()
