"""The record of exports and erasures: who did it, from where, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, QuerySet

from checkout_integration.flows.database import state_database
from checkout_integration.flows.privacy.person import Person
from checkout_integration.models import PrivacyAct
from checkout_integration.models.columns import as_column_text


@dataclass(frozen=True, kw_only=True)
class PrivacyRequest:
    """Who asks for an export or an erasure, and why. It is stored for good: no personal data of the customer belongs here.

    Attributes:
        reason: why; 255 characters are stored.
        staff: the account of the person who decides; None where that is nobody's.
        origin: "admin", "command", or "code" for the shop's own.

    """

    reason: str = field(repr=False)
    staff: AbstractBaseUser | None = None
    origin: str = PrivacyAct.Origin.CODE


def record_act(
    person: Person, act: PrivacyAct.Act, request: PrivacyRequest, counts: Mapping[str, int]
) -> None:
    """Add a row about an act. In a transaction of the caller's, or by itself."""
    customers = sorted(person.users)
    orders = [] if customers else sorted(person.first_orders)
    PrivacyAct.objects.using(state_database()).create(
        project=person.project,
        act=act,
        origin=request.origin,
        staff_id=request.staff.pk if request.staff else None,
        reason=as_column_text(request.reason),
        customer_id=customers[0] if customers else None,
        order_id=orders[0] if orders else None,
        counts=dict(counts),
    )


def acts_about(person: Person) -> QuerySet[PrivacyAct]:
    """Return the acts that were recorded about a customer."""
    acts = PrivacyAct.objects.using(state_database()).filter(project=person.project)
    return acts.filter(Q(customer__in=person.users) | Q(order__in=person.first_orders))
