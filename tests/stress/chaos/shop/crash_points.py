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
        name="web: before verify", module=f"{_FLOWS}.webhook.receiving", function="_verified", before=True
    ),
    CrashPoint(name="web: after verify", module=f"{_FLOWS}.webhook.receiving", function="_verified"),
    CrashPoint(name="web: after notification insert", module=f"{_FLOWS}.inbox", function="store"),
    CrashPoint(name="web: before answer", module=f"{_FLOWS}.webhook.receiving", function="_process"),
    CrashPoint(
        name="web: after answer", module="checkout_integration.dispatch", function="dispatch_due", before=True
    ),
)
APPLY: Final = (
    CrashPoint(
        name="apply: after claim",
        module=f"{_FLOWS}.inbox.applying",
        function="_steps",
        before=True,
        within="_apply_once",
    ),
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
        name="worker: after ledger row before commit", module=f"{_FLOWS}.outbox.running", function="_finish"
    ),
    CrashPoint(name="worker: after commit", module=f"{_FLOWS}.outbox.running", function="attempt"),
)
"""In whichever process runs receivers."""
REMINDERS: Final = (
    CrashPoint(
        name="worker: before who left is written",
        module=f"{_FLOWS}.operations.abandoned",
        function="_messages",
        before=True,
    ),
    CrashPoint(
        name="worker: after who left is written", module=f"{_FLOWS}.operations.abandoned", function="_send"
    ),
)
"""In the worker that looks for checkouts that stay unpaid; no event of an order passes there."""
ALL: Final = (*WEB, *APPLY, *WORKER, *REMINDERS)
_SYNC: Final = f"{_FLOWS}.sync"
SYNC: Final = (
    CrashPoint(name="sync: after lane taken", module=f"{_SYNC}.passes", function="Lease.take"),
    CrashPoint(name="sync: before plan", module=f"{_SYNC}.passes", function="_plan", before=True),
    CrashPoint(name="sync: after plan", module=f"{_SYNC}.passes", function="_plan"),
    CrashPoint(name="sync: after window taken", module=f"{_SYNC}.watermark", function="Lease.take_window"),
    CrashPoint(name="sync: before page", module=f"{_SYNC}.passes", function="record_page", before=True),
    CrashPoint(name="sync: after merge", module=f"{_SYNC}.list_rows", function="upsert", before=True),
    CrashPoint(name="sync: after row hashes", module=f"{_SYNC}.list_rows", function="upsert"),
    CrashPoint(
        name="sync: before commit",
        module="django.db.backends.base.base",
        function="BaseDatabaseWrapper.commit",
        before=True,
        within="_recorded",
    ),
    CrashPoint(name="sync: after commit", module=f"{_SYNC}.passes", function="record_page"),
    CrashPoint(name="sync: after page counted", module=f"{_SYNC}.passes", function="PageCounter.add"),
    CrashPoint(
        name="sync: before window end", module=f"{_SYNC}.watermark", function="Lease.end_window", before=True
    ),
    CrashPoint(name="sync: after window end", module=f"{_SYNC}.watermark", function="Lease.end_window"),
    CrashPoint(name="sync: before pass end", module=f"{_SYNC}.passes", function="end_pass", before=True),
    CrashPoint(name="sync: after watermark", module=f"{_SYNC}.watermark", function="Lease.advance"),
    CrashPoint(
        name="sync: before release", module=f"{_SYNC}.watermark", function="Lease.release", before=True
    ),
    CrashPoint(name="sync: after pass end", module=f"{_SYNC}.passes", function="end_pass"),
)
"""In whichever process reads the transaction list."""


def arm(folder: Path) -> None:
    """Lay every crash point in this process; they wait for fuses in `folder`."""
    _folder.append(folder)
    for point in ALL:
        if point.module:
            lay(point, functools.partial(burn, point))


def lay(point: CrashPoint, strike: Callable[[int], None]) -> None:
    """Let this process do something each time it comes by, with the number of attempts of the run at hand."""
    owner, name = owner_of(point)
    setattr(owner, name, _mined(getattr(owner, name), point, strike))


def owner_of(point: CrashPoint) -> tuple[Any, str]:
    """Return what holds the function, a module or a class, and the function's name there."""
    *path, name = point.function.split(".")
    owner: Any = functools.reduce(getattr, path, import_module(point.module))
    return owner, name


def burn(point: CrashPoint, attempts: int = 0) -> None:
    """Die here if this place has a fuse, unless the current work was hit often before."""
    if attempts > MOST_STRUCK:
        return
    if not _folder or not (fuse := _folder[0] / point.fuse).exists():
        return
    try:
        fuse.unlink()
    except FileNotFoundError:  # RACE: another process took it and dies in our place
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _mined(
    function: Callable[..., Any], point: CrashPoint, strike: Callable[[int], None]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def walked(*arguments: Any, **named: Any) -> Any:
        first = arguments[0] if arguments else None
        attempts = getattr(getattr(first, "run", first), "attempts", 0)  # a run counts them
        counts = not point.within or _is_running(point.within)
        if counts and point.before:
            strike(attempts)
        result = function(*arguments, **named)
        if counts and not point.before:
            strike(attempts)
        return result

    return walked


def _is_running(name: str) -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None
