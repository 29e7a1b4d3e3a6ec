"""The transactions list (chapter 3): who may read it, its filters, and its answer."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from checkout_integration.protocol.vocabulary import TRANSACTIONS_LIMIT_DEFAULT, OrderStatus
from checkout_integration.sandbox.documents import Context, Documents
from checkout_integration.sandbox.error_codes import Case
from checkout_integration.sandbox.failure import RefusedError
from checkout_integration.sandbox.ledger import Search, Searchable, State
from checkout_integration.sandbox.moments import read_filter_moment
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.project import Projects, SandboxProject
from checkout_integration.sandbox.signing import same_secret

LIMIT_MAX: Final = 1000  # field notes
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FOUND_IN_THE_FIELD: Final[Mapping[str, list[State]]] = {
    OrderStatus.PROCESSED: [(OrderStatus.PROCESSED, None), (OrderStatus.REFUNDED, False)],
    OrderStatus.REFUNDED: [(OrderStatus.REFUNDED, True)],
}
_LARGEST_OFFSET: Final = 2**62


class Listing:
    """Answers the transactions list."""

    def __init__(
        self, ledger: Searchable, projects: Projects, documents: Documents, profile: Profile
    ) -> None:
        """Work on the sandbox's parts."""
        self._ledger = ledger
        self._projects = projects
        self._documents = documents
        self._profile = profile

    def page(self, authorization: str | None, query: MultiDict[str, str]) -> dict[str, Any]:
        """Return the page asked for, oldest first; `items` is null when it is empty (EP3-12).

        Raises:
            RefusedError: bad credentials, or a filter that cannot be read.
        """
        project = self.authenticate(authorization)
        search = self._search(project, query)
        count, orders = self._ledger.search(search)
        items = [self._documents.order(order, Context.LIST) for order in orders]
        return {"count": count, "items": items or None}

    def authenticate(self, authorization: str | None) -> SandboxProject:
        """Return the project whose id and secret are HTTP Basic's login and password (AUT-03).

        Raises:
            RefusedError: bad credentials.
        """
        login, password = _basic_credentials(authorization)
        project = self._projects.find(login)
        if project is None:
            raise self._refusal(self._profile.list_unknown_project_status if login else 401)
        if not same_secret(password, project.secret_key):
            raise self._refusal(401)
        return project

    def _refusal(self, status: int) -> RefusedError:
        """Return the refusal of bad credentials; in the field it has a message alone (ERR-01)."""
        code = "" if self._profile.framework_errors_short else f"fm000{status}"
        return RefusedError(status, code, "Internal Server Error" if status >= 500 else "Unauthorized")

    def _search(self, project: SandboxProject, query: MultiDict[str, str]) -> Search:
        visible = self._projects.of_merchant(project.merchant)
        asked = self._array(query, "project")
        account = query.get("account") or None
        date_from, date_to = self._period(query)
        return Search(
            project_ids=visible if asked is None else [each for each in visible if each in asked],
            id=self._id(query),
            states=self._states(query),
            account=None if self._profile.account_finds_parts else account,
            customer=account if self._profile.account_finds_parts else None,
            invoice_id=query.get("invoice_id") or None,
            date_from=date_from,
            date_to=date_to,
            limit=self._limit(query),
            offset=whole_number(query, "offset", 0, 0, _LARGEST_OFFSET),
        )

    def _array(self, query: MultiDict[str, str], name: str) -> list[str] | None:
        """Return an array parameter; in the field only the bracketed name is one, the plain is ignored."""
        values = query.getlist(f"{name}[]")
        if self._profile.plain_arrays:
            values += query.getlist(name)
        return values or None

    def _id(self, query: MultiDict[str, str]) -> str | None:
        order_id = query.get("id") or None
        if order_id and self._profile.id_is_uuid and not _UUID.fullmatch(order_id):
            raise RefusedError(400, Case.INVALID_DATA, "invalid request data", "id: must be a UUID")
        return order_id

    def _states(self, query: MultiDict[str, str]) -> list[State] | None:
        """Return what the status filter finds: in the field a refund is found by its own item, its order by `processed`."""
        statuses = self._array(query, "status")
        if set(statuses or ()) - set(OrderStatus):
            raise RefusedError(400, Case.INVALID_DATA, "invalid request data", "status: unknown value")
        if statuses is None:
            return None
        found = _FOUND_IN_THE_FIELD if self._profile.reversal_is_second_item else {}
        return [state for status in statuses for state in found.get(status, [(status, None)])]

    def _limit(self, query: MultiDict[str, str]) -> int:
        zero = 0 if self._profile.zero_limit_is_default else 1
        return whole_number(query, "limit", 0, zero, LIMIT_MAX) or TRANSACTIONS_LIMIT_DEFAULT

    def _period(self, query: MultiDict[str, str]) -> tuple[datetime | None, datetime | None]:
        """Return both ends; a second `project_date_from` is the end too, as the specification lists it (EP3-08)."""
        starts = [_moment(text) for text in query.getlist("project_date_from")]
        if len(starts) > 2:
            raise RefusedError(
                400, Case.INVALID_DATA, "invalid request data", "project_date_from: given too often"
            )
        start, second = (*starts, None, None)[:2]
        return start, _moment(query.get("project_date_to")) or second


def _basic_credentials(authorization: str | None) -> tuple[str, str]:
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        login, _, password = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return login, password


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return read_filter_moment(text)
    except ValueError:
        raise RefusedError(
            400, Case.INVALID_DATA, "invalid request data", "dates have the form YYYY-MM-DDThh:mm:ss"
        ) from None


def whole_number(query: MultiDict[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query, or refuse it with 400."""
    text = query.get(name) or ""
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise RefusedError(
            400, Case.INVALID_DATA, "invalid request data", f"{name}: must be {least} to {most}"
        )
    return number
