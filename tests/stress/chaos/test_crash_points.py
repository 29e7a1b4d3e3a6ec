"""The crash points are still where the product's functions are: a refactoring cannot silently disarm one."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.stress.chaos.places import ROOT
from tests.stress.chaos.shop import crash_points, waits
from tests.stress.chaos.shop.crash_points import CrashPoint, owner_of

LAID = [point for point in (*crash_points.ALL, *crash_points.SYNC) if point.module]


@pytest.mark.parametrize("point", LAID, ids=lambda point: point.fuse)
def test_wrapped_function_exists(point: CrashPoint) -> None:
    """Every name that is wrapped from outside is a function of the product, or of Django."""
    owner, name = owner_of(point)
    assert callable(getattr(owner, name))


def test_surrounding_function_exists() -> None:
    """A point that counts only within another function names one that there is."""
    applying = import_module("checkout_integration.flows.inbox.applying")
    list_rows = import_module("checkout_integration.flows.sync.list_rows")
    assert {point.within for point in LAID} == {"", "_apply_once", "_recorded"}
    assert callable(applying._apply_once) and callable(list_rows._recorded)


@pytest.mark.parametrize(
    "place", [waits.GRACE, waits.BACK_OFF, waits.PLAN, waits.LOOK], ids=lambda place: place[1]
)
def test_shortened_wait_exists(place: tuple[str, str]) -> None:
    """Every wait that is shortened from outside is one of the product's."""
    assert getattr(import_module(place[0]), place[1])


def test_points_differ() -> None:
    """Two points with one fuse would burn each other's."""
    assert len({point.fuse for point in crash_points.ALL}) == len(crash_points.ALL) == 19


BURN = """
import sys, pathlib
from tests.stress.chaos.shop import crash_points
crash_points._folder.append(pathlib.Path(sys.argv[1]))
crash_points.burn(crash_points.WEB[0], int(sys.argv[2]))
"""


def test_fuse_kills_one_process(tmp_path: Path) -> None:
    """A process that was hit often is spared; the next one dies and removes the fuse; the one after it lives."""
    (tmp_path / crash_points.WEB[0].fuse).touch()
    codes = [
        subprocess.run([sys.executable, "-c", BURN, tmp_path, attempts], cwd=ROOT, check=False).returncode
        for attempts in ("9", "1", "1")
    ]
    assert codes == [0, -signal.SIGKILL, 0]
