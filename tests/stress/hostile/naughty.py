"""Strings that break software, and documents of the service in which every text is one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.notification import Notification, parse_notification
from tests.support.corpora import naughty_strings
from tests.support.flows.recording import record
from tests.support.protocol.vectors import vector
from tests.support.scale import times

OURS = [
    "nul\x00nul",
    "half \ud83d pair",
    "two\r\nlines\nand\rmore",
    "separators\u2028\u2029\x85end",
    "turned \u202e round \u200b hidden \ufeff",
    "\x1b[2Jterminal",
    "javascript:alert(1)",
    "https://evil.example/\"onmouseover='alert(1)'",
    '"></textarea></script><script src=//evil.example></script>',
    "{{ request.user }}{% debug %}",
    "=1+1",
    "%(message)s %s %d {} {0}",
    "../../../../etc/passwd\x00.png",
    "x" * 300,
    "\U0010ffff\ufffe\uffff",
]
"""What the list lacks: NUL, half pairs, line ends, what templates, logs and spreadsheets read."""
HARMLESS = "word"


def all_strings() -> list[str]:
    """The 515 strings of the list, and ours."""
    return [*naughty_strings(), *OURS]


def is_storable(string: str) -> bool:
    """Whether every database stores it as it is; a name that is not is quarantined."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in string)


def some_strings(every_run: int) -> list[str]:
    """So many of the list, spread over it, and all of ours; in the full run all of the list."""
    listed = naughty_strings()
    step = len(listed) // times(every_run, len(listed))
    return [*listed[::step], *OURS]


def with_texts(document: Any, text: Callable[[], str]) -> Any:
    """The document with a new text in place of each, keys of metadata included."""
    if isinstance(document, dict):
        return {key: _with_texts_of(key, value, text) for key, value in document.items()}
    if isinstance(document, list):
        return [with_texts(value, text) for value in document]
    return text() if isinstance(document, str) else document


def _with_texts_of(key: str, value: Any, text: Callable[[], str]) -> Any:
    if key == "metadata" and isinstance(value, dict):
        return {text(): text() for _ in value}
    return with_texts(value, text)


_numbers = count()


def notification(text: Callable[[], str], **envelope: Any) -> dict[str, Any]:
    """A payment of which every text is naughty, but for the event and the testing case; a number makes its ids its own."""
    number = next(_numbers)
    order = with_texts(vector("order"), text)
    order |= {"id": f"{text()[:200]}~{number}", "testing_case": "", "is_production": False}
    made: dict[str, Any] = with_texts(vector("notification_success"), text)
    return made | {"id": f"{text()}~{number}", "event": "payment.success", "object": order, **envelope}


def recorded(strings: Sequence[str], at_once: int = 100) -> list[dict[str, Any]]:
    """Orders of which every text is one of the strings, recorded as the ledger takes them; as they were read."""
    bodies = [
        as_body(notification(repeat(string)), escaped=number % 2 == 0)
        for number, string in enumerate(strings)
    ]
    notifications = [parse_notification(strict_json.loads(body)) for body in bodies]
    for begin in range(0, len(notifications), at_once):
        observations = [_observation_of(each) for each in notifications[begin : begin + at_once]]
        record(app_settings().project(), observations, Cause(source=Source.NOTIFICATION))
    return [dict(each.object) for each in notifications]


def _observation_of(notification: Notification) -> Observation:
    return Observation(
        source=Source.NOTIFICATION,
        order=notification.order(),
        event=notification.event,
        observed_at=notification.created_at,
        live=notification.live,
    )


def as_body(document: Any, *, escaped: bool) -> bytes:
    """JSON in UTF-8, all beyond ASCII as escapes or as it is; half a pair can only be escaped."""
    raw = strict_json.dumps(document)
    try:
        return (_ascii(document) if escaped else raw).encode()
    except UnicodeEncodeError:
        return _ascii(document).encode()


def _ascii(document: Any) -> str:
    return json.dumps(document, default=float)


def repeat(string: str) -> Callable[[], str]:
    """Gives the same string for every text."""
    return lambda: string


def in_turn(strings: list[str], start: int = 0) -> Callable[[], str]:
    """Gives one string after the other, from the beginning again at the end."""
    places: Iterator[int] = count(start)
    return lambda: strings[next(places) % len(strings)]
