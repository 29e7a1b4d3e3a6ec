"""Trying the seeded defects: each in a copy of the tree, its test in a process of its own.

The processes are forked from one that has loaded what other people wrote: to load it takes longer than most of the tests.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import pytest

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
    "benchmarks",
)
NOT_LOADED = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:playwright")
"""Plug-ins that none of the tests needs; the last two take as long to load as most of the tests to run."""
LOADED_BEFORE = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Plug-ins that are loaded already keep their asserts as they are; nobody reads those."""
LOADED_ONCE = [
    "celery",
    "django.contrib.admin.sites",
    "django.core.management",
    "django.test",
    "factory.django",
    "hypothesis",
    "pytest",
    "pytest_django.plugin",
    "requests",
    "xdist.plugin",
]
OURS = {"checkout_integration", "example_project", "tests", "benchmarks"}
TESTS_FAILED = 1
Trial = Callable[[Path, Sequence[str], str], int]
"""Runs these tests in a tree on a database; returns pytest's exit code."""


def run(words: Sequence[str], most: int | None = None) -> int:
    """Try the defects with one of the words in their names (all without words), or a sample; print a line for each."""
    chosen = [each for each in defects() if not words or any(word in each.name for word in words)]
    if most is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        chosen = random.Random(commit).sample(chosen, min(most, len(chosen)))
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
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(LOADED_ONCE)
        processes = stack.enter_context(
            ProcessPoolExecutor(AT_ONCE, mp_context=context, max_tasks_per_child=1)
        )
        attempt = partial(_pytest, processes, environment)
        if not _green(chosen, attempt):
            print("FAILED: these tests are not even green without a defect.")
            return 1
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_ONCE):
            trees.put(_tree(folder / f"tree-{number}"))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = list(pool.map(lambda each: _caught(each, attempt, trees), chosen))
    print(f"\n{sum(caught)} of {len(caught)} seeded defects were caught.")
    for each in (each for each, was_caught in zip(chosen, caught, strict=True) if not was_caught):
        print(f"MISSED  {each.name}  ({each.test})")
    return 0 if all(caught) else 1


def _green(chosen: Sequence[Defect], attempt: Trial) -> bool:
    """Whether the tests pass on the product as it is."""
    tests = {
        each.database: sorted({one.test for one in chosen if one.database == each.database})
        for each in chosen
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = pool.map(lambda database: attempt(ROOT, tests[database], database), tests)
        return not any(codes)


def _tree(root: Path) -> Path:
    """Copy all that the tests need; keep the times of files, so that compiled files stay valid."""
    for name in COPIED:
        _copy(ROOT / name, root / name)
    return root


def _caught(defect: Defect, attempt: Trial, trees: SimpleQueue[Path]) -> bool:
    """Whether the test fails in a tree with the defect; the tree is put back as it was."""
    tree = trees.get()
    try:
        defect.seed(tree)
        code = attempt(tree, [defect.test], defect.database)
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


def _pytest(
    processes: ProcessPoolExecutor,
    environment: dict[str, str],
    root: Path,
    tests: Sequence[str],
    database: str,
) -> int:
    chosen = environment | {"CHECKOUT_TEST_DATABASE": database, "PYTHONPATH": str(root)}
    code, output = processes.submit(_in_this_process, root, tests, chosen).result()
    if code not in {0, TESTS_FAILED}:
        print(output[-4000:], file=sys.stderr)
    return code


def _in_this_process(root: Path, tests: Sequence[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run pytest on a tree in this process, which has loaded nothing of it."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(root)
    sys.pycache_prefix, sys.dont_write_bytecode = environment["PYTHONPYCACHEPREFIX"], False
    sys.path[:] = [str(root), *(each for each in sys.path if each not in {"", str(ROOT)})]
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    importlib.invalidate_caches()
    with tempfile.TemporaryFile() as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        code = pytest.main(["-q", "-x", *NOT_LOADED, *LOADED_BEFORE, *tests])
        sys.stdout.flush()
        output.seek(0)
        return int(code), output.read().decode(errors="replace")
