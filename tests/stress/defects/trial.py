"""Trying the seeded defects: each in a copy of the tree, its test in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from tests.stress.defects.table import ROOT, Defect, defects
from tests.support import services

AT_ONCE = min(os.cpu_count() or 1, 4)
COPIED = (
    "checkout_integration",
    "example_project",
    "tests",
    "docs",
    "pyproject.toml",
    "README.md",
    "SECURITY.md",
    "CHANGELOG.md",
)
NOT_LOADED = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:playwright")
"""Plug-ins that none of the tests needs; the last two take as long to load as most of the tests to run."""
TESTS_FAILED = 1


def run(words: Sequence[str]) -> int:
    """Try the defects with one of the words in their names (all without words), and print a line for each."""
    chosen = [each for each in defects() if not words or any(word in each.name for word in words)]
    with ExitStack() as stack:
        environment = {**os.environ, services.REDIS: stack.enter_context(services.redis()).url or ""}
        environment[services.POSTGRES] = stack.enter_context(services.postgres()).url or ""
        environment[services.MARIADB] = stack.enter_context(services.mariadb()).url or ""
        for database, server in (("postgres", services.POSTGRES), ("mariadb", services.MARIADB)):
            if not environment[server]:
                chosen = [each for each in chosen if each.database != database]
                print(f"LEFT OUT what needs {database}", flush=True)
                if services.required():
                    return 1
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checkout-defects-")))
        # Compiled once for all: that takes longer than most of the tests.
        environment |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
        if not _green(chosen, environment):
            print("FAILED: these tests are not even green without a defect.")
            return 1
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_ONCE):
            trees.put(_tree(folder / f"tree-{number}"))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = list(pool.map(lambda each: _caught(each, environment, trees), chosen))
    print(f"\n{sum(caught)} of {len(caught)} seeded defects were caught.")
    return 0 if all(caught) else 1


def _green(chosen: Sequence[Defect], environment: dict[str, str]) -> bool:
    """Whether the tests pass on the product as it is."""
    tests = {
        each.database: sorted({one.test for one in chosen if one.database == each.database})
        for each in chosen
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = pool.map(lambda database: _pytest(ROOT, tests[database], database, environment), tests)
        return not any(codes)


def _tree(root: Path) -> Path:
    """Copy all that the tests need; keep the times of files, so that compiled files stay valid."""
    for name in COPIED:
        _copy(ROOT / name, root / name)
    return root


def _caught(defect: Defect, environment: dict[str, str], trees: SimpleQueue[Path]) -> bool:
    """Whether the test fails in a tree with the defect; the tree is put back as it was."""
    tree = trees.get()
    try:
        defect.seed(tree)
        code = _pytest(tree, [defect.test], defect.database, environment)
    finally:
        _copy(ROOT / defect.file, tree / defect.file)
        trees.put(tree)
    caught = code == TESTS_FAILED
    print(f"{'caught' if caught else 'MISSED'}  {defect.name}  ({defect.test})", flush=True)
    return caught


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _pytest(root: Path, tests: Sequence[str], database: str, environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", *NOT_LOADED, *tests]
    chosen = environment | {"CHECKOUT_TEST_DATABASE": database, "PYTHONPATH": str(root)}
    done = subprocess.run(command, check=False, cwd=root, env=chosen, capture_output=True, text=True)
    if done.returncode not in {0, TESTS_FAILED}:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return done.returncode
