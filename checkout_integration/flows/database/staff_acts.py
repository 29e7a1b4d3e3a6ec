"""The record of what staff did, written in the transaction of the act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from checkout_integration.models import StaffAct, Transition
from checkout_integration.models.actor import Actor, actor_columns
from checkout_integration.models.columns import as_column_text

_origin: ContextVar[StaffAct.Origin] = ContextVar("origin", default=StaffAct.Origin.CODE)


@contextmanager
def acting_from(origin: StaffAct.Origin) -> Iterator[None]:
    """Record what is done inside as done from there. The doors of staff say so; all else is the shop's own code."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


def record_staff_act(
    act: StaffAct.Act | Transition.Act,
    staff: Actor | None,
    *,
    project: str | None,
    reason: str = "",
    counts: Mapping[str, int] | None = None,
    **about: Any,
) -> None:
    """Add a row about an act, in the caller's transaction or by itself. ``about``: its order, receiver and so on."""
    StaffAct.primary.create(
        act=act,
        origin=_origin.get(),
        project=project or "",
        reason=as_column_text(reason),
        counts=dict(counts or {}),
        **actor_columns(staff),
        **about,
    )
