"""Log lines of records with arguments written by strangers."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def broken_lines(records: Iterable[logging.LogRecord]) -> list[str]:
    """Messages of the app that would be more than one line, or drive the terminal that shows them."""
    messages = (each.getMessage() for each in records if each.name.startswith("checkout_integration"))
    return [message for message in messages if _BREAKS.search(message)]
