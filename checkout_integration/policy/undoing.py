"""Whether a receiver that undoes others is called: only if one of them has granted goods (docs/fulfilment.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ruling(StrEnum):
    """The decision about a run.

    ``SUPERSEDED``: its grant was closed, nothing was granted that it could undo, or its checkout is not abandoned any more.
    """

    RUN = "run"
    WAIT = "wait"
    SUPERSEDED = "superseded"
    RECEIVERS_RENAMED = "receivers_renamed"


@dataclass(frozen=True, kw_only=True)
class GrantedBy:
    """The receivers of ``checkout_paid`` that were begun and that completed for one grant."""

    begun: frozenset[str] = frozenset()
    completed: frozenset[str] = frozenset()


def undo(
    granted: GrantedBy, undoes: frozenset[str], *, connected: frozenset[str], attempted: bool = False
) -> Ruling:
    """Return whether a receiver runs that revokes what the receivers ``undoes`` granted; empty for all of them.

    ``attempted``: receivers that began and did not complete are undone, too. ``connected`` are the receivers of
    ``checkout_paid`` known now: one that completed and is missing there may have been renamed, so staff have to look.
    """
    done = granted.completed | (granted.begun if attempted else frozenset())
    if done & undoes or (done and not undoes):
        return Ruling.RUN
    if undoes and granted.completed - connected:
        return Ruling.RECEIVERS_RENAMED
    return Ruling.SUPERSEDED
