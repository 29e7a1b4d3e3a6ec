"""Part of the pages: the words that programs compare and staff read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkout_integration.admin.site import labels, reasons
from tests.reference.markdown import NO_TEXT, joined, quoted, section, table

STATES: Final[Mapping[str, Mapping[str, labels.StateLabel]]] = {
    "Status of an order": labels.ORDER_STATUSES,
    "Verdict of an order": labels.VERDICTS,
    "Status of a checkout": labels.CHECKOUT_STATUSES,
    "State of a notification": labels.NOTIFICATION_STATES,
    "State of an outbox message": labels.MESSAGE_STATES,
    "State of a receiver run": labels.RUN_STATES,
    "State of a pass of the sync": labels.SYNC_STATES,
}


@section
def state_words() -> str:
    """Return the states of rows."""
    parts = []
    for title, states in STATES.items():
        rows = [
            [quoted(str(word)), str(label.text), str(label.meaning) or NO_TEXT]
            for word, label in states.items()
        ]
        parts += [f"## {title}", table(["word", "the admin shows", "meaning"], rows)]
    return joined(*parts)


@section
def reason_words() -> str:
    """Return the reasons of verdicts."""
    return _texts(reasons.REASONS)


@section
def incident_words() -> str:
    """Return the kinds of incidents."""
    return _texts(reasons.INCIDENTS)


def _texts(texts: Mapping[str, tuple[object, object]]) -> str:
    rows = [[quoted(str(word)), str(short), str(sentence)] for word, (short, sentence) in texts.items()]
    return table(["word", "the admin shows", "meaning"], rows)
