"""What a game server asks and says: what a customer owns, which goods wait to be delivered, and that they were."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet, UUIDField

from checkout_integration.conf import Project
from checkout_integration.flows.database import database_now, in_transaction, locked
from checkout_integration.flows.ledger import account_by_hook, account_of, identity_here
from checkout_integration.flows.outbox import GAME_SERVER
from checkout_integration.hooks import overrides
from checkout_integration.models import Checkout, CheckoutUser, Grant
from checkout_integration.protocol.user import parse_user


class AlreadyClosed(ValueError):
    """The grant was closed before anybody acknowledged it: its goods must not be delivered."""


def owned_by_id(project: Project, external_id: str, product: str = "") -> QuerySet[Checkout]:
    """Return the paid checkouts of a project that the customer with this id of the shop's owns: all, or those of a product.

    They are those of the id, and those of its account, as `Checkout.objects.owned_by` has them: with gifts to it, and without
    gifts to others. Whose the id is says the customer's row, else `Hooks.find_user`, else `account_of`.
    """
    paid = Q(status=Checkout.Status.PAID)  # in each part, as in `owned_by`
    owned = Checkout.objects.filter(_belongs_to(project, external_id, paid), project=project.alias)
    owned = owned.exclude(owned_until__lte=datetime.now(UTC))
    return owned.filter(Q(products__lists=product)) if product else owned


def waiting_grants(project: Project, external_id: str) -> QuerySet[Grant]:
    """Return the open grants of a customer that a game server has not acknowledged."""
    checkouts = Checkout.objects.filter(_belongs_to(project, external_id, Q()), project=project.alias)
    grants = Grant.objects.filter(checkout__in=checkouts.order_by().values("pk"), pull=True)
    return grants.filter(state=Grant.State.OPEN, acknowledged_at=None)


def _belongs_to(project: Project, external_id: str, status: Q) -> Q:
    ids = {external_id, _as_sent(external_id)}
    own = Q(identity__in=[identity_here(each) for each in ids], gift=False) & status
    account = next((found for each in ids if (found := _account_of(project, each)) is not None), None)
    if account is None:
        return own
    return own | (Q(user=account, gift=False) & status) | (Q(recipient=account) & status)


def _as_sent(external_id: str) -> str:
    """Return the id as `create_checkout` sends it: some game engines spell a UUID in capitals, or without hyphens."""
    try:
        return str(UUID(external_id)) if isinstance(get_user_model()._meta.pk, UUIDField) else external_id
    except ValueError:
        return external_id


def _account_of(project: Project, external_id: str) -> Any:
    """Return the key of the account of a customer's id: as the customer's row has it, else the hook, else `account_of`."""
    identity = identity_here(external_id)
    rows = CheckoutUser.primary.filter(project=project.alias, identity=identity, account__isnull=False)
    known = rows.values_list("account", flat=True).first()
    if known is not None:
        return known
    user = parse_user({"external_id": external_id})
    if overrides(project.hooks, "find_user"):
        return account_by_hook(project, user)
    account = account_of(user)
    return account.pk if account is not None else None


@in_transaction
def acknowledge(project: Project, key: str) -> Grant | None:
    """Note that a game server has delivered the goods of a grant; return it, or None if the project has no such grant.

    It may be called again: the first time counts. Raises `AlreadyClosed`.

    RACE: the ledger may be closing the grant. Under its lock it is either open, and the reversal finds who delivered it, or
    closed, and nothing is noted.
    """
    grant = locked(Grant.primary.filter(project=project.alias, key=key, pull=True)).first()
    if grant is not None and grant.acknowledged_at is None:
        if grant.state != Grant.State.OPEN:
            raise AlreadyClosed(key)
        grant.acknowledged_at = database_now()
        grant.completed = sorted({*grant.completed, GAME_SERVER})
        grant.save(update_fields=["acknowledged_at", "completed"])
    return grant
