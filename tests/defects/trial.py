"""Trying the seeded defects: a copy of the tree for each, its test in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests import services
from tests.defects.table import ROOT, Defect, defects

AT_ONCE = min(os.cpu_count() or 1, 4)
COPIED = (
    "checkout_integration",
    "example_project",
    "tests",
    "docs",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
)
TESTS_FAILED = 1


def run(words: Sequence[str]) -> int:
    """Try the defects whose names hold one of the words (all without words), and print a line for each."""
    chosen = [each for each in defects() if not words or any(word in each.name for word in words)]
    with ExitStack() as stack:
        environment = {**os.environ, services.REDIS: stack.enter_context(services.redis()).url or ""}
        environment[services.POSTGRES] = stack.enter_context(services.postgres()).url or ""
        if not environment[services.POSTGRES]:
            chosen = [each for each in chosen if each.database != "postgres"]
            print("LEFT OUT what needs PostgreSQL", flush=True)
        if not _green(chosen, environment):
            print("FAILED: these tests are not even green without a defect.")
            return 1
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = list(pool.map(lambda each: _caught(each, environment), chosen))
    print(f"\n{sum(caught)} of {len(caught)} seeded defects were caught.")
    return 0 if all(caught) else 1


def _green(chosen: Iterable[Defect], environment: dict[str, str]) -> bool:
    """Whether the tests pass on the product as it is."""
    for database in sorted({each.database for each in chosen}):
        tests = sorted({each.test for each in chosen if each.database == database})
        if _pytest(ROOT, tests, database, environment) != 0:
            return False
    return True


def _caught(defect: Defect, environment: dict[str, str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="checkout-defect-") as folder:
        copy = Path(folder)
        for name in COPIED:
            _copy(ROOT / name, copy / name)
        defect.seed(copy)
        code = _pytest(copy, [defect.test], defect.database, environment)
    caught = code == TESTS_FAILED
    print(f"{'caught' if caught else 'MISSED'}  {defect.name}  ({defect.test})", flush=True)
    return caught


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _pytest(root: Path, tests: Sequence[str], database: str, environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    chosen = environment | {"CHECKOUT_TEST_DATABASE": database, "PYTHONPATH": str(root)}
    done = subprocess.run(command, check=False, cwd=root, env=chosen, capture_output=True, text=True)
    if done.returncode not in {0, TESTS_FAILED}:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return done.returncode
