"""The map tells the truth: what it claims is what the tests are marked with, as pytest itself sees the marks."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.specification import collected
from tests.specification.mapping import (
    ROOT,
    SIDES,
    Files,
    citations,
    claims,
    one_sided,
    sides_of,
    statements,
)
from tests.specification.marks import Claim, Place, claims_of, places_of
from tests.specification.page import PAGE, count, page
from tests.support.scale import RUN, SEED, times

MARKED = list(claims())
SOME = random.Random(SEED).sample(MARKED, times(12, len(MARKED)))
EXAMPLE = """
import pytest

CASES = [pytest.param(1, marks=pytest.mark.spec("ORD-01", "ORD-02")), pytest.param(2, marks=[pytest.mark.spec("ORD-03")])]
MORE = [*CASES, pytest.param(3, marks=pytest.mark.spec("ORD-04"))]
pytestmark = [pytest.mark.django_db, pytest.mark.spec("SVC-01")]

@pytest.mark.spec("EP1-01", "EP1-02")
def test_decorated(): ...

@pytest.mark.parametrize("value", MORE)
def test_by_name(value): ...

def test_plain(): return CASES

class TestHere:
    pytestmark = pytest.mark.spec("EP2-01")

    @pytest.mark.parametrize("value", [pytest.param(1, marks=pytest.mark.spec("EP2-02"))])
    def test_inside(self, value): ...

@pytest.mark.spec("EP2-03")
class TestThere:
    def test_inside(self): ...

def helper():
    return pytest.mark.spec("EP3-01")
"""


def read(path: str) -> ast.Module:
    """Parse a module of tests."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def without(tree: ast.Module, place: Place) -> ast.Module:
    """Take the id at a place out of its mark, in memory."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.args = [one for one in node.args if (one.lineno, one.col_offset) != place]
    return tree


def by_test(made: list[Claim]) -> dict[str, set[str]]:
    """Return the statements of each test."""
    found: dict[str, set[str]] = {}
    for claim in made:
        found.setdefault(claim.test, set()).add(claim.statement)
    return found


def test_a_claim_is_a_mark_on_that_very_test() -> None:
    """A list of cases counts for the test that is parametrized by it, and for no other test of the module."""
    assert by_test(list(claims_of(ast.parse(EXAMPLE)))) == {
        "test_decorated": {"SVC-01", "EP1-01", "EP1-02"},
        "test_by_name": {"SVC-01", "ORD-01", "ORD-02", "ORD-03", "ORD-04"},
        "test_plain": {"SVC-01"},
        "TestHere::test_inside": {"SVC-01", "EP2-01", "EP2-02"},
        "TestThere::test_inside": {"SVC-01", "EP2-03"},
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", SOME)
def test_removing_one_mark_removes_exactly_its_claim(path: str) -> None:
    """For each id of each mark: what it claimed is gone, whatever else was claimed is still there, nothing is new."""
    made = list(claims_of(read(path)))
    for place in {claim.place for claim in made}:
        left = list(claims_of(without(read(path), place)))
        assert left == [claim for claim in made if claim.place != place]
        assert len(left) < len(made)


@pytest.mark.slow
@pytest.mark.parametrize("path", MARKED)
def test_no_mark_is_idle_or_said_twice(path: str) -> None:
    """A mark where pytest does not look claims nothing; one of two alike could go without a trace; ids are written out."""
    made = list(claims_of(read(path)))
    assert not any("pytest.mark.spec(*" in ast.unparse(node) for node in read(path).body)
    assert sorted({claim.place for claim in made}) == sorted(places_of(read(path)))
    twice = Counter((claim.statement, claim.test, claim.case) for claim in made)
    whole = {(claim.statement, claim.test) for claim in made if not claim.case}
    assert [key for key, times in twice.items() if times > 1] == []
    assert [claim for claim in made if claim.case and (claim.statement, claim.test) in whole] == []


@pytest.mark.slow
def test_the_map_tells_what_pytest_collects(tmp_path: Path) -> None:
    """The items of pytest carry exactly the marks that were read here; all cases of a test where no case is named."""
    report = tmp_path / "marks.txt"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        collected.__name__,
        *collected.PLAIN,
    ]
    environment = {**os.environ, collected.REPORT: str(report), RUN: ""}
    done = subprocess.run(
        [*command, *MARKED], check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = {tuple(line.split("\t")) for line in report.read_text(encoding="utf-8").splitlines()}
    modules = {test.partition("::")[0] for test, _, _ in found}
    assert {path for path in MARKED if path not in modules} <= {
        path for path in MARKED if needs_browser(path)
    }
    assert found == {
        (f"{path}::{claim.test}", claim.statement, "some" if claim.case else "all")
        for path, made in claims().items()
        for claim in made
        if path in modules
    }


def needs_browser(path: str) -> bool:
    """Whether pytest may leave a module out where Playwright is not installed."""
    return "pytest.mark.browser" in (ROOT / path).read_text(encoding="utf-8")


def test_there_are_231_statements() -> None:
    """The copy of the specification's statements is whole."""
    assert len({statement.id for statement in statements()}) == 231


def test_every_statement_is_proven_on_both_sides_and_no_other() -> None:
    """A mark that names no statement proves nothing; a side that cannot show one says why, and only then."""
    known = {(statement.id, side) for statement in statements() for side in SIDES}
    proven = {
        (claim.statement, side)
        for path, made in claims().items()
        for side in sides_of(path)
        for claim in made
    }
    assert proven | set(one_sided()) == known
    assert proven & set(one_sided()) == set()


def test_every_statement_is_cited_on_both_sides() -> None:
    """Who reads a statement finds the lines that obey it, in the client or the app and in the sandbox."""
    cited = {(id_, side) for id_, files in citations().items() for file in files for side in sides_of(file)}
    assert {(statement.id, side) for statement in statements() for side in SIDES} - cited == set()


def test_statements_of_state_are_cited_by_the_policy() -> None:
    """The rules of what an order is are there, and nowhere else."""
    state = {statement.id for statement in statements() if statement.id.startswith("STA-")} - {"STA-10"}
    cited = {id_ for id_, files in citations().items() if any("/policy/" in file for file in files)}
    assert state | {"EVT-03", "EVT-04", "EVT-05", "EVT-06", "EVT-10", "EVT-12"} <= cited


@pytest.mark.slow
def test_the_page_counts_its_claims() -> None:
    """The number at the top is that of the rows, where a test stands in a cell once and says of how many of its cases."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| statement")
    ]
    tests = [
        cell
        for row in rows
        for cell in set(row.replace(" | ", "<br>").removesuffix(" |").split("<br>"))
        if ".py::" in cell
    ]
    assert f"{len(rows)} statements, {sum(map(cases_of, tests))} claims" in text
    assert sum(map(cases_of, tests)) == count(claims())


def cases_of(test: str) -> int:
    """Return how many claims stand for one name on the page."""
    return int(test.rpartition(" (")[2].partition(" ")[0]) if " (" in test else 1


@pytest.mark.slow
def test_a_claim_that_goes_changes_its_row_alone() -> None:
    """One claim less is one row and the number at the top."""
    made, cited, reasons = claims(), citations(), one_sided()
    before = page(made, cited, reasons).splitlines()
    for path in SOME:
        claim = made[path][-1]
        rest: Files = {**made, path: [one for one in made[path] if one != claim]}
        after = page(rest, cited, reasons).splitlines()
        changed = [line for line, new in zip(before, after, strict=True) if line != new]
        assert [line.split(" ")[:2] for line in changed] == [["231", "statements,"], ["|", claim.statement]]


@pytest.mark.slow
def test_the_map_is_the_one_of_these_tests() -> None:
    """After a change of marks or citations, `python3 -m tests.specification` writes the page anew."""
    assert PAGE.read_text(encoding="utf-8") == page(claims(), citations(), one_sided())
