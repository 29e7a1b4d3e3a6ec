"""What staff decide about a customer: link one to an account, block one; both can be undone, and so can a claim."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet

from checkout_integration.flows import ledger
from checkout_integration.flows.database import in_transaction, locked, record_staff_act
from checkout_integration.flows.outbox import make_postponed_due
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

    It replaces the previous account. What was bought by an account stays its own. Receivers that wait (`RetryLater`) for one
    of these checkouts are due at once; no other runs. Return False where nothing changes: it is linked already, or the
    customer was erased.
    """
    linked = _link(customer, account, StaffAct.Act.LINK, staff, reason)
    if linked:
        make_postponed_due(Checkout.primary.filter(orders__user=customer, by_link=True))
    return linked


def unlink_account(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Undo a link: what it gave to the account is nobody's again. Return False where there is no link.

    The customer then has the account again that bought as this customer itself, or none.
    """
    return _link(customer, None, StaffAct.Act.UNLINK, staff, reason)


@in_transaction
def undo_claim(checkout: Checkout, *, staff: Actor | None, reason: str) -> bool:
    """Take a claimed checkout from its account: it is nobody's again. Return False where it was not claimed."""
    rows = Checkout.primary.filter(pk=checkout.pk, claimed_at__isnull=False)
    row = rows.only("user", "claimed_at", "paid_order").first()
    if row is None or row.claimed_at is None or not rows.update(user_id=None, claimed_at=None):
        return False
    record_staff_act(
        StaffAct.Act.UNCLAIM,
        staff,
        project=checkout.project,
        reason=reason,
        account_id=row.user_id,
        order_id=row.paid_order_id,
        detail=row.claimed_at.isoformat(),
    )
    return True


@in_transaction
def _link(
    customer: CheckoutUser,
    account: AbstractBaseUser | None,
    act: StaffAct.Act,
    staff: Actor | None,
    reason: str,
) -> bool:
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


def block_customer(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Block a customer of a project, with all rows of theirs (`rows_of_person`). Return False where they are blocked already.

    From now on user.validate refuses them before the shop's validators are asked, `create_checkout` raises
    ``CustomerBlocked``, and a payment that comes all the same is in review. What they own stays theirs. Erasing the customer
    does not lift it. Author and reason are a `StaffAct`.
    """
    return _decide(customer, StaffAct.Act.BLOCK, datetime.now(UTC), staff, reason)


def unblock_customer(customer: CheckoutUser, *, staff: Actor | None, reason: str) -> bool:
    """Lift the block of a customer, on all rows of theirs (`rows_of_person`); return False where there is none.

    Payments that are in review for it wait for staff.
    """
    return _decide(customer, StaffAct.Act.UNBLOCK, None, staff, reason)


@in_transaction
def _decide(
    customer: CheckoutUser,
    act: StaffAct.Act,
    blocked_at: datetime | None,
    staff: Actor | None,
    reason: str,
) -> bool:
    open_ones = rows_of_person(customer).filter(blocked_at__isnull=act == StaffAct.Act.BLOCK)
    keys = [row.pk for row in locked(open_ones).order_by("pk")]
    CheckoutUser.primary.filter(pk__in=keys).update(blocked_at=blocked_at)
    if keys:
        about: dict[str, Any] = {"customer_id": customer.pk, "counts": {"customers": len(keys)}}
        record_staff_act(act, staff, project=customer.project, reason=reason, **about)
    return bool(keys)


def rows_of_person(customer: CheckoutUser) -> QuerySet[CheckoutUser]:
    """Return the rows that are blocked together: those with the customer's id at the service, or a person's tombstones.

    The tombstones of one erasure have its time: they have nothing else in common, and no two erasures have the same.
    """
    rows = CheckoutUser.primary.filter(project=customer.project)
    erased_at = rows.filter(pk=customer.pk).values_list("erased_at", flat=True).first()
    if erased_at is not None:
        return rows.filter(erased_at=erased_at)
    same_id = Q(user_id=customer.user_id) if customer.user_id else Q()
    return rows.filter(same_id | Q(pk=customer.pk))
