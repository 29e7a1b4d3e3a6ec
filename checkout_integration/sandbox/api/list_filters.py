"""The filters of the transactions list, read from the query (EP3-03 to EP3-11)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from werkzeug.datastructures import MultiDict

from checkout_integration.protocol.vocabulary import TRANSACTIONS_LIMIT_DEFAULT, OrderStatus
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.store.order_search import Search, State
from checkout_integration.sandbox.wire.errors import invalid
from checkout_integration.sandbox.wire.moments import read_filter_moment

LIMIT_MAX: Final = 1000  # EP3-10: as deployed services
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FIELD_STATES: Final[Mapping[str, list[State]]] = {
    OrderStatus.PROCESSED: [(OrderStatus.PROCESSED, None), (OrderStatus.REFUNDED, False)],
    OrderStatus.REFUNDED: [(OrderStatus.REFUNDED, True)],
}
_LARGEST_OFFSET: Final = 2**62


def read_search(query: MultiDict[str, str], visible: Sequence[str], profile: Profile) -> Search:
    """Return the search that the query describes, of the projects that its merchant sees.

    Raises:
        RefusedError: 400, a filter that cannot be read.
    """
    requested = _array(query, "project", profile)
    account = query.get("account") or None
    date_from, date_to = _period(query)
    least = 0 if profile.zero_limit_is_default else 1
    return Search(
        project_ids=[each for each in visible if requested is None or each in requested],
        id=_id(query, profile),
        states=_states(query, profile),
        account=None if profile.account_finds_parts else account,
        customer=account if profile.account_finds_parts else None,
        invoice_id=query.get("invoice_id") or None,
        date_from=date_from,
        date_to=date_to,
        limit=whole_number(query, "limit", 0, least, LIMIT_MAX) or TRANSACTIONS_LIMIT_DEFAULT,
        offset=whole_number(query, "offset", 0, 0, _LARGEST_OFFSET),
    )


def _array(query: MultiDict[str, str], name: str, profile: Profile) -> list[str] | None:
    """Return an array parameter; deployed services read the bracketed name only (EP3-04, EP3-05)."""
    values = query.getlist(f"{name}[]")
    if profile.plain_arrays:
        values += query.getlist(name)
    return values or None


def _id(query: MultiDict[str, str], profile: Profile) -> str | None:
    order_id = query.get("id") or None
    if order_id and profile.id_is_uuid and not _UUID.fullmatch(order_id):
        raise invalid("id: must be a UUID")
    return order_id


def _states(query: MultiDict[str, str], profile: Profile) -> list[State] | None:
    """Return the status condition; as deployed, `refunded` finds the item of a refund, `processed` its order."""
    statuses = _array(query, "status", profile)
    if set(statuses or ()) - set(OrderStatus):
        raise invalid("status: unknown value")
    if statuses is None:
        return None
    found = _FIELD_STATES if profile.reversal_is_second_item else {}
    return [state for status in statuses for state in found.get(status, [(status, None)])]


def _period(query: MultiDict[str, str]) -> tuple[datetime | None, datetime | None]:
    """Return start and end; a second `project_date_from` is an end too, as the specification writes it (EP3-08)."""
    starts = [_moment(text) for text in query.getlist("project_date_from")]
    if len(starts) > 2:
        raise invalid("project_date_from: given too often")
    start, second = (*starts, None, None)[:2]
    return start, _moment(query.get("project_date_to")) or second


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return read_filter_moment(text)
    except ValueError:
        raise invalid("dates have the form YYYY-MM-DDThh:mm:ss") from None


def whole_number(query: MultiDict[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query, or refuse it with 400."""
    text = query.get(name) or ""
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise invalid(f"{name}: must be {least} to {most}")
    return number
