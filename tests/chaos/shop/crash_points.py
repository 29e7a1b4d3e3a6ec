"""Named places at which a process of the shop kills itself, laid around the product's functions from outside.

A place is armed by a file in a folder, its *fuse*: the first process that comes by takes the file away and dies by SIGKILL.
So each fuse kills exactly one process, whichever of them it is.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

MOST_STRUCK: Final = 4
"""Attempts after which a run is spared: what ends its process ten times is failed, and rightly so."""
_folder: list[Path] = []


@dataclass(frozen=True, kw_only=True)
class CrashPoint:
    """A place before or after a function; `within` names a function that must be running."""

    name: str
    module: str = ""
    function: str = ""
    before: bool = False
    within: str = ""

    @property
    def fuse(self) -> str:
        """Name of the file that arms it."""
        return self.name.replace(":", "").replace(" ", "-")


_FLOWS: Final = "checkout_integration.flows"
RECEIVER_WROTE: Final = CrashPoint(name="worker: receiver's write before commit")
"""Laid by the shop's own receiver."""
WEB: Final = (
    CrashPoint(
        name="web: before verify", module=f"{_FLOWS}.webhook.receive", function="_verified", before=True
    ),
    CrashPoint(name="web: after verify", module=f"{_FLOWS}.webhook.receive", function="_verified"),
    CrashPoint(name="web: after notification insert", module=f"{_FLOWS}.inbox", function="store"),
    CrashPoint(name="web: before answer", module=f"{_FLOWS}.webhook.receive", function="_take"),
    CrashPoint(
        name="web: after answer", module="checkout_integration.dispatch", function="hand_over", before=True
    ),
)
APPLY: Final = (
    CrashPoint(name="apply: after claim", module=f"{_FLOWS}.inbox.applying", function="claim"),
    CrashPoint(name="apply: after order lock", module=f"{_FLOWS}.ledger.recording", function="lock"),
    CrashPoint(name="apply: after merge", module=f"{_FLOWS}.ledger.recording", function="write", before=True),
    CrashPoint(name="apply: after outbox insert", module=f"{_FLOWS}.ledger.recording", function="write"),
    CrashPoint(name="apply: after settling", module=f"{_FLOWS}.inbox.applying", function="settle"),
    CrashPoint(
        name="apply: before commit",
        module="django.db.backends.base.base",
        function="BaseDatabaseWrapper.commit",
        before=True,
        within="_apply_once",
    ),
    CrashPoint(name="apply: after commit", module=f"{_FLOWS}.inbox.applying", function="_apply_once"),
)
"""In whichever process applies."""
WORKER: Final = (
    CrashPoint(
        name="worker: before attempt", module=f"{_FLOWS}.outbox.running", function="claim", before=True
    ),
    CrashPoint(
        name="worker: after counter", module=f"{_FLOWS}.outbox.running", function="attempt", before=True
    ),
    RECEIVER_WROTE,
    CrashPoint(
        name="worker: after ledger row before commit", module=f"{_FLOWS}.outbox.attempt", function="_finish"
    ),
    CrashPoint(name="worker: after commit", module=f"{_FLOWS}.outbox.running", function="attempt"),
)
ALL: Final = (*WEB, *APPLY, *WORKER)


def arm(folder: Path) -> None:
    """Lay every crash point in this process; they wait for fuses in `folder`."""
    _folder.append(folder)
    for point in ALL:
        if point.module:
            owner, name = owner_of(point)
            setattr(owner, name, _mined(getattr(owner, name), point))


def owner_of(point: CrashPoint) -> tuple[Any, str]:
    """Return what holds the function, a module or a class, and the function's name there."""
    *path, name = point.function.split(".")
    owner: Any = functools.reduce(getattr, path, import_module(point.module))
    return owner, name


def burn(point: CrashPoint, attempts: int = 0) -> None:
    """Die here if a fuse is laid for this place, and what is at hand has not been struck often before."""
    if attempts > MOST_STRUCK:
        return
    if not _folder or not (fuse := _folder[0] / point.fuse).exists():
        return
    if point.within and not _is_running(point.within):
        return
    try:
        fuse.unlink()
    except FileNotFoundError:  # RACE: another process took it and dies in our place
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _mined(function: Callable[..., Any], point: CrashPoint) -> Callable[..., Any]:
    @functools.wraps(function)
    def walked(*arguments: Any, **named: Any) -> Any:
        first = arguments[0] if arguments else None
        attempts = getattr(getattr(first, "run", first), "attempts", 0)  # a run counts them
        if point.before:
            burn(point, attempts)
        result = function(*arguments, **named)
        if not point.before:
            burn(point, attempts)
        return result

    return walked


def _is_running(name: str) -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None
