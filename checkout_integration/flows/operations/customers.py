"""What staff decide about a customer: block one, and lift the block."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import Q

from checkout_integration.flows.database import locked, record_staff_act, with_retries, write_transaction
from checkout_integration.models import CheckoutUser, StaffAct
from checkout_integration.models.actor import Actor


def block_customer(
    customer: CheckoutUser, *, staff: Actor | None, reason: str, origin: str = StaffAct.Origin.CODE
) -> bool:
    """Block a customer of a project, with all who have their id at the service. Return False where they are blocked already.

    From now on user.validate refuses them before the shop's validators are asked, `create_checkout` raises
    ``CustomerBlocked``, and a payment that comes all the same is in review. What they own stays theirs. Erasing the customer
    does not lift it. Author and reason are a `StaffAct`.
    """
    return _decide(customer, StaffAct.Act.BLOCK, datetime.now(UTC), staff, reason, origin)


def unblock_customer(
    customer: CheckoutUser, *, staff: Actor | None, reason: str, origin: str = StaffAct.Origin.CODE
) -> bool:
    """Lift the block of a customer; return False where there is none. Payments that are in review for it wait for staff."""
    return _decide(customer, StaffAct.Act.UNBLOCK, None, staff, reason, origin)


def _decide(
    customer: CheckoutUser,
    act: StaffAct.Act,
    blocked_at: datetime | None,
    staff: Actor | None,
    reason: str,
    origin: str,
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
                record_staff_act(
                    act, staff, origin, project=row.project, reason=reason, customer_id=row.pk, counts={}
                )
        return bool(rows)

    return with_retries(decide)
