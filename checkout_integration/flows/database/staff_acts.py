"""The record of what staff did that is not in the history of one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkout_integration.models import StaffAct
from checkout_integration.models.actor import Actor, actor_columns
from checkout_integration.models.columns import as_column_text


def record_staff_act(
    act: StaffAct.Act,
    staff: Actor | None,
    origin: str = StaffAct.Origin.CODE,
    *,
    project: str | None,
    reason: str = "",
    counts: Mapping[str, int],
    **about: Any,
) -> None:
    """Add a row about an act, in the caller's transaction or by itself. ``about``: its customer, order or receiver."""
    StaffAct.primary.create(
        act=act,
        origin=origin,
        project=project or "",
        reason=as_column_text(reason),
        counts=dict(counts),
        **actor_columns(staff),
        **about,
    )
