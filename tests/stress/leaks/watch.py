"""Secrets and personal data that no log, response, report, task or command may contain, and the watch for them."""

from __future__ import annotations

import copy
import logging
import re
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpRequest
from django.views.debug import ExceptionReporter

SECRETS: Final = ("sandbox_test_secret", "only-for-tests-and-never-told")
"""The key of the tests' project and Django's own (tests/settings.py)."""
PERSONAL: Final = (
    "Ada Lovelace",
    "+4930901820",
    "203.0.113.7",
    "b5bb9d8014a0f9b1d61e21e796d78dcc",
    "4242424242424242",
)
"""The customer of every payload that the factories make (checkout_integration/testing/payloads.py), and a card's number."""
ADDRESS: Final = re.compile(r"player-[0-9]+@example\.com")
OWN: Final = frozenset(vars(logging.makeLogRecord({})))
"""What every log record has."""


@dataclass
class Watch:
    """Looks at texts, counts them by kind, and remembers where it found something."""

    seen: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, kind: str, text: str, *, personal: bool = True) -> None:
        """Looks at one text. ``personal``: whether personal data may not be in it; a secret never may."""
        words = (*SECRETS, *PERSONAL) if personal else SECRETS
        hits = [word for word in words if word in text]
        hits += ADDRESS.findall(text) if personal else []
        with self.lock:
            self.seen[kind] += 1
            self.found += [f"{kind}: {hit!r} in {_around(text, hit)!r}" for hit in hits]

    def take(self) -> list[str]:
        """Return the findings since the last call."""
        with self.lock:
            found, self.found = self.found, []
        return found

    def look_at_error(self, request: HttpRequest | None) -> None:
        """Looks at the error at hand as Django shows it: the page with DEBUG on and the report to the administrators."""
        error = sys.exc_info()
        self.look("error", "".join(map(str, _chain(error[1]))))
        reporter = ExceptionReporter(request, *error)
        self.look("report", reporter.get_traceback_text())
        self.look("error page", reporter.get_traceback_html())


class Listener(logging.Handler):
    """Look at every log record: its line with the traceback, its arguments, and its extra fields."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        """Formats a copy: a formatted traceback would stay with the record."""
        more = {name: value for name, value in vars(record).items() if name not in OWN}
        self.watch.look("log record", f"{self.format(copy.copy(record))}\n{record.args!r}\n{more!r}")


def _chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _around(text: str, hit: str) -> str:
    at = text.index(hit)
    return text[max(at - 150, 0) : at + len(hit) + 50]


def as_text(answer: Any) -> str:
    """Return the content of a response with its headers; a stream is not read."""
    content = "" if answer.streaming else answer.content.decode("utf-8", "replace")
    return f"{answer.headers}\n{content}"
