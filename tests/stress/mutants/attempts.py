"""Trying drawn mutants: each in a copy of the tree, with the tests that reach its function."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.stress.defects.trial import COPIED
from tests.stress.mutants import reached
from tests.stress.mutants.draw import ROOT, Mutant
from tests.stress.mutants.reached import Reach
from tests.stress.mutants.score import EQUIVALENT
from tests.support.scale import EVERYDAY, RUN

CAUGHT, EQUAL, SURVIVED, UNREACHED, ENDLESS = (
    "caught",
    "equivalent",
    "survived",
    "reached by no test",
    "endless",
)
GOOD: Final = frozenset({CAUGHT, EQUAL, ENDLESS})
QUICK: Final = ("-m", "not browser and not slow", "--ignore=tests/stress", "tests")
"""The everyday run: what it does not notice is noticed late."""
PLAIN: Final = (
    "-q -p no:cacheprovider -p no:randomly -p no:playwright -p no:schemathesis --hypothesis-seed=0".split()
)
FIRST: Final = 8
"""How many tests are tried before all others."""
SECONDS_OF_TESTS: Final = 30.0
"""How long the tests of one mutant take without it, all together."""
SECONDS: Final = 300.0
"""When a mutant is given up that never ends."""


def attempts(
    mutants: Sequence[Mutant], *, only: Collection[int] | None, reach: Path | None
) -> Iterator[tuple[int, Mutant, str]]:
    """Try the mutants of these numbers, counted from 1, and yield the outcome of each.

    Args:
        mutants: the drawn sample.
        only: the numbers to try; all when it is None.
        reach: file with the lines reached by an earlier run; it is written when missing.

    """
    rows = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("drawn", [])
    excused = {(row["file"], f"- {row['was']}\n+ {row['becomes']}") for row in rows}
    with tempfile.TemporaryDirectory(prefix="checkout-mutants-") as folder:
        tree = Path(folder) / "tree"
        for name in COPIED:
            _copy(ROOT / name, tree / name)
        # The working tree may change meanwhile.
        clean = {mutant.file: (tree / mutant.file).read_bytes() for mutant in mutants}
        shown = _reach(tree, mutants, clean, reach or Path(folder) / "reach.txt")
        for number, mutant in enumerate(mutants, 1):
            if only is None or number in only:
                outcome = _outcome(tree, mutant, clean[mutant.file], _chosen(mutant, shown))
                excusable = outcome not in GOOD and (mutant.file, mutant.diff) in excused
                yield number, mutant, EQUAL if excusable else outcome


def _reach(tree: Path, mutants: Sequence[Mutant], clean: Mapping[str, bytes], path: Path) -> Reach:
    """Run the tests once, with notes in the drawn functions."""
    if not path.exists():
        for file, code in clean.items():
            lines = [mutant.line for mutant in mutants if mutant.file == file]
            (tree / file).write_text(reached.noting(file, code.decode(), lines), encoding="utf-8")
        _pytest(tree, ["-p", reached.__name__, *QUICK], {reached.REPORT: str(path.resolve())}, seconds=None)
        for file, code in clean.items():
            (tree / file).write_bytes(code)
    return reached.read(path)


def _chosen(mutant: Mutant, shown: Reach) -> list[str]:
    """Return the tests that mirror the module first, then the quick ones, as long as they take together."""
    module = Path(mutant.file).stem

    def rank(test: str) -> tuple[bool, bool, float]:
        path = test.partition("::")[0]
        return module not in path, f"tests/{mutant.area}/" not in path, shown.seconds.get(test, 0.0)

    chosen: list[str] = []
    seconds = 0.0
    for test in sorted(shown.tests.get(mutant.place, []), key=rank):
        seconds += shown.seconds.get(test, 0.0)
        if chosen and seconds > SECONDS_OF_TESTS:
            break
        chosen.append(test)
    return chosen


def _outcome(tree: Path, mutant: Mutant, clean: bytes, tests: Sequence[str]) -> str:
    if not tests:
        return UNREACHED
    try:
        (tree / mutant.file).write_text(mutant.code, encoding="utf-8")
        # Most are caught by the first few; only a survivor costs the rest.
        caught = any(_fails(tree, some) for some in (tests[:FIRST], tests[FIRST:]) if some)
    except subprocess.TimeoutExpired:
        return ENDLESS
    finally:
        (tree / mutant.file).write_bytes(clean)
    return CAUGHT if caught else SURVIVED


def _fails(tree: Path, tests: Sequence[str]) -> bool:
    names = tree / "tests.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    return bool(_pytest(tree, ["-x", f"@{names}"], {}, seconds=SECONDS))


def _pytest(tree: Path, arguments: Sequence[str], more: dict[str, str], *, seconds: float | None) -> int:
    # Compiled beside the tree, once for all.
    compiled = {"PYTHONPYCACHEPREFIX": str(tree.parent / "compiled"), "PYTHONPATH": str(tree)}
    command = [sys.executable, "-m", "pytest", *PLAIN, *arguments]
    environment = {**os.environ, **compiled, RUN: EVERYDAY, **more}
    return subprocess.run(
        command, check=False, cwd=tree, env=environment, timeout=seconds, capture_output=True
    ).returncode


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
