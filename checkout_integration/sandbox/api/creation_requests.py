"""Token creation and order creation (chapters 1 and 2): who may create, and with which data."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checkout_integration.sandbox.clock import VirtualClock
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.orders.language import with_language
from checkout_integration.sandbox.orders.order import Order
from checkout_integration.sandbox.orders.order_factory import new_order, repeat_order
from checkout_integration.sandbox.orders.purchase import (
    Purchase,
    check_addresses,
    check_purchase,
    read_order_purchase,
    read_token_purchase,
)
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.store.ledger import Ledger
from checkout_integration.sandbox.wire.errors import Case, RefusedError, invalid
from checkout_integration.sandbox.wire.fields import Fields
from checkout_integration.sandbox.wire.http import LARGEST_BODY
from checkout_integration.sandbox.wire.json_text import read_json, write_json
from checkout_integration.sandbox.wire.moments import from_microseconds, to_microseconds
from checkout_integration.sandbox.wire.signing import same_secret

TOKEN_LIFETIME: Final = timedelta(days=30)  # EP1-24: as deployed services


@dataclass(frozen=True)
class CreationRequests:
    """Creation of tokens and orders."""

    store: Store
    ledger: Ledger
    projects: Projects
    clock: VirtualClock
    profile: Profile

    def create_token(self, document: dict[str, Any], signature: str | None) -> str:
        """Check a token request and return its token (EP1-23).

        Raises:
            RefusedError: project unknown, credentials bad, or data wrong.
        """
        body = Fields(document)
        purchase = read_token_purchase(body, self.profile)
        _refuse_problems(body, self.projects.find(purchase.project or ""))
        project = self._project(purchase, self.profile.unknown_token_project_status, "settings.project_id")
        self._check_signature(project, signature, needed=True)
        _check(purchase, project, "settings.")
        if not self.profile.token_addresses_free:
            check_addresses(purchase, project)
        _check_standing(project)
        return self._store_token(document)

    def create_order(self, document: dict[str, Any], signature: str | None, language: str = "") -> Order:
        """Check an order request, with or by its token, and store the new order (EP2-17).

        `language` is the customer's locale when the request names none.

        Raises:
            RefusedError: project or token unknown, credentials bad, or data wrong.
        """
        body = Fields(document)
        token = body.text("token", longest=LARGEST_BODY)
        purchase = read_order_purchase(body)
        prepared = body.text("order")
        _refuse_problems(body, self.projects.find(purchase.project or ""))
        own = purchase
        if token:
            purchase = own.overridden_by(self._token_purchase(token))
        project = self._project(purchase, 400, "project")
        # The user data of a token needs no signature here: the token was created with it.
        self._check_signature(project, signature, needed=document.get("user") is not None)
        known = self._prepared(prepared, project)
        if known is None or purchase.type is not None:
            _check(purchase, project)
            check_addresses(own if self.profile.token_addresses_free else purchase, project)
        _check_standing(project)
        return known or self._store_order(purchase, project, language)

    def repeat_order(self, order: Order) -> Order:
        """Store the new order of a customer's "try again"."""
        project = self.projects.find(order.project_id)
        if project is None:
            raise RefusedError(404, Case.UNKNOWN_PROJECT, "project not found")
        _check_standing(project)
        again = repeat_order(order, project, self._now())
        self.ledger.add(again)
        return again

    def _store_order(self, purchase: Purchase, project: SandboxProject, language: str) -> Order:
        order = with_language(new_order(purchase, project, self._now()), language)
        if order.amount <= 0:
            # Units of virtual currency can be worth less than the smallest coin (ORD-22: positive).
            raise invalid("amount: is worth nothing")
        self.ledger.add(order)
        return order

    def _prepared(self, order_id: str | None, project: SandboxProject) -> Order | None:
        """Return the order that was prepared under that identifier (EP2-14); deployed services return it unchanged."""
        if order_id is None or not self.profile.returns_prepared_orders:
            return None
        order = self.ledger.find(order_id)
        return order if order and order.project_id == project.project_id and not order.reversal else None

    def _project(self, purchase: Purchase, unknown_status: int, name: str) -> SandboxProject:
        if not purchase.project:
            raise invalid(f"{name}: is required")
        project = self.projects.find(purchase.project)
        if project is None:
            raise RefusedError(unknown_status, Case.UNKNOWN_PROJECT, "project not found", f"{name}: unknown")
        return project

    def _check_signature(self, project: SandboxProject, signature: str | None, *, needed: bool) -> None:
        """Check X-API-SIGNATURE where it is required; the profile `spec` checks it wherever it is given (AUT-02, AUT-05)."""
        if not (needed or self.profile.unneeded_signature_checked):
            return
        status = self.profile.bad_credentials_status
        if signature is None:
            if needed:
                raise RefusedError(
                    status, Case.SIGNATURE_MISSING, "signature is required", "X-API-SIGNATURE is missing"
                )
        elif not same_secret(signature, project.secret_key):
            raise RefusedError(status, Case.WRONG_SECRET, "invalid signature", "X-API-SIGNATURE does not fit")

    def _store_token(self, document: dict[str, Any]) -> str:
        token = secrets.token_urlsafe(96)
        self.store.run(
            "INSERT INTO tokens VALUES (?, ?, ?)", (token, to_microseconds(self._now()), write_json(document))
        )
        return token

    def _token_purchase(self, token: str) -> Purchase:
        rows = self.store.run("SELECT * FROM tokens WHERE token = ?", (token,))
        if not rows or self._now() > from_microseconds(rows[0]["created_at"]) + TOKEN_LIFETIME:
            raise RefusedError(400, Case.BAD_TOKEN, "invalid token", "token: unknown or expired")
        return read_token_purchase(Fields(read_json(rows[0]["document"])), self.profile)

    def _now(self) -> datetime:
        return self.profile.moment(self.clock.now())


def _check(purchase: Purchase, project: SandboxProject, prefix: str = "") -> None:
    checked = Fields({}, prefix)
    check_purchase(purchase, project, checked)
    _refuse_problems(checked, project)


def _refuse_problems(body: Fields, project: SandboxProject | None) -> None:
    if body.problems:
        raise invalid("; ".join(body.problems), project.invalid_status if project else 400)


def _check_standing(project: SandboxProject) -> None:
    """Refuse to create anything for a suspended or not yet activated project (HTT-07, HTT-08)."""
    if project.suspended:
        raise RefusedError(403, Case.SUSPENDED, "not authorized", "the project is suspended")
    if project.live and not project.activated:
        raise RefusedError(402, Case.NOT_ACTIVATED, "account is not activated for live requests")
