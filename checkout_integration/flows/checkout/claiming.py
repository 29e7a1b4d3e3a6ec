"""A guest's purchase, claimed by the account that is logged in: by the signed return address, once. Staff can undo it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser

from checkout_integration.flows.database import record_staff_act, with_retries, write_transaction
from checkout_integration.flows.outbox import make_postponed_due
from checkout_integration.models import Checkout, StaffAct
from checkout_integration.models.actor import Actor

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

    Call it for the checkout of a signed reference (`checkout_of`), which only the buyer has; never by an e-mail address
    alone. Receivers that wait (`RetryLater`) are due at once: they may have waited for an owner. No other runs.
    Answer with `DispatchingRedirect` or `JsonDispatchingResponse`, so that they need not wait for the next notification.
    """
    # RACE: two accounts claim at once, or staff link the guest meanwhile: it is written where it still is nobody's.
    rows = Checkout.primary.filter(pk=checkout.pk)
    unclaimed = rows.filter(**UNCLAIMED)
    claimed = bool(with_retries(lambda: unclaimed.update(user_id=account.pk, claimed_at=datetime.now(UTC))))
    if claimed:
        make_postponed_due(rows)
        checkout.refresh_from_db(fields=["user", "claimed_at"])
    return claimed


def undo_claim(checkout: Checkout, *, staff: Actor | None, reason: str) -> bool:
    """Take a claimed checkout from its account: it is nobody's again. Return False where it was not claimed."""

    def undo() -> bool:
        with write_transaction():
            rows = Checkout.primary.filter(pk=checkout.pk, claimed_at__isnull=False)
            account = rows.values_list("user", flat=True).first()
            if not rows.update(user_id=None, claimed_at=None):
                return False
            about: dict[str, Any] = {"account_id": account, "order_id": checkout.paid_order_id}
            record_staff_act(StaffAct.Act.UNCLAIM, staff, project=checkout.project, reason=reason, **about)
        return True

    return with_retries(undo)
