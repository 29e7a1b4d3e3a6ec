"""What staff decide about a customer: link one to an account, block one; both can be undone."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet

from checkout_integration.flows import ledger
from checkout_integration.flows.database import locked, record_staff_act, with_retries, write_transaction
from checkout_integration.models import Checkout, CheckoutUser, StaffAct
from checkout_integration.models.actor import Actor


def linkable_checkouts(customer: CheckoutUser) -> QuerySet[Checkout]:
    """Return the checkouts that an account gets by `link_account`: those of the customer's orders that no account owns."""
    return ledger.bought_as_guest(customer).order_by("-recorded_at", "-pk")


def link_account(
    customer: CheckoutUser,
    account: AbstractBaseUser,
    *,
    staff: Actor | None = None,
    reason: str = "",
) -> bool:
    """Link a customer to an account of the shop, which then owns what they bought as a guest, and will buy.

    It replaces the previous account. What was bought by an account stays its own. No receiver runs. Return False where
    nothing changes: it is linked already, or the customer was erased.
    """
    return _link(customer, account, StaffAct.Act.LINK, staff, reason)


def unlink_account(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Undo a link: what it gave to the account is nobody's again. Return False where there is no link."""
    return _link(customer, None, StaffAct.Act.UNLINK, staff, reason)


def _link(
    customer: CheckoutUser,
    account: AbstractBaseUser | None,
    act: StaffAct.Act,
    staff: Actor | None,
    reason: str,
) -> bool:
    def link() -> bool:
        with write_transaction():
            before = CheckoutUser.primary.filter(pk=customer.pk).values_list("account", flat=True).first()
            count = ledger.link_to_account(customer, account.pk if account else None)
            if count is not None:
                record_staff_act(
                    act,
                    staff,
                    project=customer.project,
                    reason=reason,
                    customer_id=customer.pk,
                    account_id=account.pk if account else before,
                    counts={"checkouts": count},
                )
        return count is not None

    return with_retries(link)


def block_customer(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Block a customer of a project, with all who have their id at the service. Return False where they are blocked already.

    From now on user.validate refuses them before the shop's validators are asked, `create_checkout` raises
    ``CustomerBlocked``, and a payment that comes all the same is in review. What they own stays theirs. Erasing the customer
    does not lift it. Author and reason are a `StaffAct`.
    """
    return _decide(customer, StaffAct.Act.BLOCK, datetime.now(UTC), staff, reason)


def unblock_customer(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Lift the block of a customer; return False where there is none. Payments that are in review for it wait for staff."""
    return _decide(customer, StaffAct.Act.UNBLOCK, None, staff, reason)


def _decide(
    customer: CheckoutUser,
    act: StaffAct.Act,
    blocked_at: datetime | None,
    staff: Actor | None,
    reason: str,
) -> bool:
    theirs = Q(pk=customer.pk) | (Q(user_id=customer.user_id) if customer.user_id else Q(pk=customer.pk))

    def decide() -> bool:
        customers = CheckoutUser.primary.filter(
            theirs, project=customer.project, blocked_at__isnull=act == StaffAct.Act.BLOCK
        )
        with write_transaction():
            rows = list(locked(customers).order_by("pk"))
            CheckoutUser.primary.filter(pk__in=[row.pk for row in rows]).update(blocked_at=blocked_at)
            for row in rows:
                record_staff_act(act, staff, project=row.project, reason=reason, customer_id=row.pk)
        return bool(rows)

    return with_retries(decide)
