"""Notifications in the shapes that older versions of the service sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from checkout_integration.sandbox.wire.moments import read_moment

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = {"seconds": -62_135_596_800, "nanos": 0}
_ZERO_TIMES: Final = {"", "0001-01-01T00:00:00Z"}
_MONEY: Final = {"amount", "original_amount", "charge_amount", "virtual_currency_amount", "rate"}
_EXTRA: Final = {"recurring_subscription_id": "", "recurring_plan_id": None, "loyalty": {"level": 3}}


def in_old_shape(message: dict[str, Any]) -> dict[str, Any]:
    """Return the notification with times as seconds and nanos, money as text, unknown fields, and no nulls."""
    document = {name: value for name, value in message["object"].items() if value is not None}
    document |= {name: _old_moment(value) for name, value in document.items() if name.endswith("_at")}
    # ORD-08: a second form of "never". Deployed services were seen to mix both in one notification.
    if document.get("canceled_at") == _NEVER:
        document["canceled_at"] = "1970-01-01T00:00:00Z"
    return {
        **message,
        "created_at": _old_moment(message["created_at"]),
        "expires_at": None,
        "object": {**_with_money_as_text(document), **_EXTRA},
    }


def _old_moment(text: str) -> dict[str, int]:
    if text in _ZERO_TIMES:
        return _NEVER
    since = read_moment(text) - _EPOCH
    seconds = since // timedelta(seconds=1)
    return {"seconds": seconds, "nanos": (since - timedelta(seconds=seconds)).microseconds * 1000}


def _with_money_as_text(document: dict[str, Any]) -> dict[str, Any]:
    return {name: _text_of(name, value) for name, value in document.items()}


def _text_of(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _with_money_as_text(value)
    if name in _MONEY and isinstance(value, (int, Decimal)):
        return str(value)
    return value
