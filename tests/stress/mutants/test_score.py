"""The score: killed mutants, those left out, and a score that is too low."""

from __future__ import annotations

import tomllib

import pytest

from tests.stress.mutants.score import (
    PARTS,
    ROOT,
    Change,
    matches,
    parse_change,
    parse_results,
    score_of,
    table,
)

SAME = Change("a + b", "b + a")
WORSE = Change("a < b", "a <= b")
DIFF = """# app.x_f__mutmut_1: survived
--- app.py
+++ app.py
@@ -1,2 +1,2 @@
 def f(a, b):
-    return a < b
+    return a <= b
"""


def test_equivalent_mutants_are_left_out_of_the_score() -> None:
    """No test can kill them; all others count."""
    score = score_of("part", 10, {"x_1": SAME, "x_2": WORSE}, [SAME])
    assert (score.killed, score.equivalent, dict(score.survivors)) == (8, 1, {"x_2": WORSE})
    assert score.percent == pytest.approx(100 * 8 / 9)
    assert "88.9 %" in table([score])


def test_no_mutants_are_no_score() -> None:
    """A part with a renamed module has not passed."""
    assert score_of("part", 0, {}, []).percent == 0


def test_the_words_of_mutmut_are_understood() -> None:
    """Its list of results and its differences."""
    assert parse_results(
        "    app.x_f__mutmut_1: survived\n    app.x_f__mutmut_2: no tests\n\nother: words\n"
    ) == {
        "app.x_f__mutmut_1": "survived",
        "app.x_f__mutmut_2": "no tests",
    }
    assert parse_change(DIFF) == Change("return a < b", "return a <= b")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("checkout_integration.protocol.values.x_same_money__mutmut_3", "money"),
        ("checkout_integration.policy.verdict.x__price__mutmut_1", "money"),
        ("checkout_integration.client.paging.xǁ_Recentǁadd__mutmut_1", "paging"),
        ("checkout_integration.protocol.values.x_parse_moment__mutmut_3", None),
    ],
)
def test_a_mutant_belongs_to_one_part(name: str, part: str | None) -> None:
    """By its module, and in values.py by its function."""
    assert [each for each, patterns in PARTS.items() if matches(name, patterns)] == ([part] if part else [])


def test_the_configuration_names_what_there_is() -> None:
    """Files that exist, and a changed file for the module of each part: a renamed one would be left out unnoticed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    chosen = project["tool"]["mutmut"]
    changed = chosen["only_mutate"]
    named = [*changed, *chosen["pytest_add_cli_args_test_selection"]]
    assert [name for name in named if not (ROOT / name).is_file()] == []
    modules = {
        pattern.split(".x_")[0].removesuffix(".*") for patterns in PARTS.values() for pattern in patterns
    }
    assert modules == {name.removesuffix(".py").replace("/", ".") for name in changed}
