"""A plug-in of pytest that learns which tests reach which drawn function, and how long each test takes.

The functions are made to call `note` first, in a copy of the tree. The running test is known from the variable that pytest
sets, which threads share and processes inherit.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

REPORT = "CHECKOUT_REACHED_REPORT"
"""Environment variable that names the file to which all processes append."""
_CALL = '__import__("tests.stress.mutants.reached", fromlist=["note"]).note("{place}")'
_seen: set[tuple[str, str]] = set()
_seconds: Counter[str] = Counter()
_failed: set[str] = set()


@dataclass(frozen=True)
class Reach:
    """What one run of the tests has shown.

    Attributes:
        tests: the tests that reach the function around each place, none that fails by itself.
        seconds: how long each test took, with all its cases.

    """

    tests: dict[str, list[str]]
    seconds: dict[str, float]


def note(place: str) -> None:
    """Write once for each test and process that the function around a place is reached."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0].partition(" (")[0]
    if test and (place, test) not in _seen:
        _seen.add((place, test))
        _append([("reached", place, test)])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of a test and its cases, and remember whether one failed."""
    test = report.nodeid.partition("[")[0]
    _seconds[test] += report.duration  # type: ignore[assignment]  # a counter of floats
    if report.failed:
        _failed.add(test)


def pytest_sessionfinish() -> None:
    """Write the sums."""
    _append(("seconds", f"{seconds:.3f}", test) for test, seconds in _seconds.items())
    _append(("failed", "", test) for test in _failed)


def _append(rows: Iterable[tuple[str, str, str]]) -> None:
    path = os.environ.get(REPORT)
    if path:
        # RACE: one short write in append mode is never torn by that of another process.
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("".join("\t".join(row) + "\n" for row in rows))


def read(path: Path) -> Reach:
    """Return what the processes wrote."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    broken = {test for kind, _, test in rows if kind == "failed"}
    found: dict[str, dict[str, None]] = {}
    for kind, place, test in rows:
        if kind == "reached" and test not in broken:
            found.setdefault(place, {})[test] = None
    seconds = {test: float(value) for kind, value, test in rows if kind == "seconds"}
    return Reach({place: list(tests) for place, tests in found.items()}, seconds)


def noting(file: str, code: str, lines: Iterable[int]) -> str:
    """Return a module in which the functions around these lines call `note` first, with the file and the line."""
    functions = [
        node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    text = code.splitlines(keepends=True)
    calls = []
    for line in set(lines):
        around = [
            function for function in functions if _begin(function) <= line <= (function.end_lineno or 0)
        ]
        outermost = min(around, key=_begin)
        has_more = ast.get_docstring(outermost) is not None and len(outermost.body) > 1
        first = outermost.body[1 if has_more else 0]
        calls.append((_begin(first), f"{' ' * first.col_offset}{_CALL.format(place=f'{file}:{line}')}\n"))
    for at, call in sorted(calls, reverse=True):
        text.insert(at - 1, call)
    return "".join(text)


def _begin(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
