"""The score tells the truth: what counts as killed, what is left out, and what fails."""

from __future__ import annotations

import pytest

from tests.mutants.score import PARTS, Change, matches, parse_change, parse_results, score_of, table

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
    """They can be killed by nobody; all others count."""
    score = score_of("part", 10, {"x_1": SAME, "x_2": WORSE}, [SAME])
    assert (score.killed, score.equivalent, dict(score.survivors)) == (8, 1, {"x_2": WORSE})
    assert score.percent == pytest.approx(100 * 8 / 9)
    assert "88.9 %" in table([score])


def test_no_mutants_are_no_score() -> None:
    """A part whose module was renamed has not passed."""
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
