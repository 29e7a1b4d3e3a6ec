"""Times as the sandbox stores, writes and reads them: aware datetimes in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FILTER_FORM = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}", re.ASCII)


def to_microseconds(moment: datetime) -> int:
    """Return the whole microseconds since 1970, as the database stores times."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: int) -> datetime:
    """Return the moment of a number from `to_microseconds`."""
    return _EPOCH + timedelta(microseconds=number)


def write_moment(moment: datetime) -> str:
    """Write RFC 3339 in UTC with Z and as many fraction digits as there are, none for whole seconds."""
    text = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
    return text + "Z"


def read_moment(text: str) -> datetime:
    """Read what `write_moment` wrote."""
    return datetime.fromisoformat(text)


def read_filter_moment(text: str) -> datetime:
    """Read a period end of the transactions list, `YYYY-MM-DDThh:mm:ss`, as UTC (EP3-07).

    Raises:
        ValueError: when the text has another form or names no real time.
    """
    if not _FILTER_FORM.fullmatch(text):
        raise ValueError("the form is YYYY-MM-DDThh:mm:ss")
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
