"""Ratios of rounds, and their verdicts."""

from __future__ import annotations

import pytest

from benchmarks.command import assert_goals, measure
from benchmarks.goals import ACCEPT, CHAIN, GOALS, HALF, MEASURED, PEER, WORDS, judge
from benchmarks.product import NotMeasured
from benchmarks.ratios import Figure, Goal, Outcome

FASTER = Goal(
    word="ingest",
    title="ours beside theirs",
    figure=Figure("ours", "rate"),
    beside=Figure("theirs", "rate"),
    must=2,
    ambition=3,
    at_least=True,
)
CHEAPER = Goal(
    word="ingest",
    title="our cost beside theirs",
    figure=Figure("ours", "python"),
    beside=Figure("theirs", "python"),
    must=0.5,
    ambition=0.25,
)


def rates(ours: float, theirs: float) -> dict[str, dict[str, float]]:
    """Return a round that measured two rates."""
    return {"ours": {"rate": ours}, "theirs": {"rate": theirs}}


def verdict(goal: Goal, *ratios: float) -> str:
    """Return the verdict on these ratios."""
    return Outcome(goal=goal, ratios=ratios).verdict


def test_each_ratio_is_of_one_round() -> None:
    """A machine that was slow in the second round slowed both: the ratio is the same."""
    assert FASTER.ratios([rates(100, 50), rates(10, 5)]) == [2, 2]


def test_the_median_of_the_ratios_is_claimed() -> None:
    """Not the ratio of the medians, which mixes rounds."""
    outcome = Outcome(
        goal=FASTER, ratios=tuple(FASTER.ratios([rates(10, 10), rates(90, 30), rates(200, 20)]))
    )
    assert outcome.median == 3


def test_a_round_that_lacks_a_side_gives_no_ratio() -> None:
    """Neither does a round without a measurement of the other side."""
    assert FASTER.ratios([{"ours": {"rate": 1}}, {"theirs": {"rate": 1}}, rates(1, 0), rates(6, 2)]) == [3]


def test_a_figure_may_be_judged_by_itself() -> None:
    """A goal in milliseconds has nothing beside it."""
    alone = Goal(word="reading", title="ms", figure=Figure("ours", "rate"), beside=None, must=50)
    assert alone.ratios([rates(7, 1), {}]) == [7]


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(1.99, "MISSED"), (2.0, "met"), (2.99, "met"), (3.0, "ambition met")],
)
def test_what_must_be_large(ratio: float, expected: str) -> None:
    """The bound itself is enough."""
    assert verdict(FASTER, ratio) == expected


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.51, "MISSED"), (0.5, "met"), (0.26, "met"), (0.25, "ambition met")],
)
def test_what_must_be_small(ratio: float, expected: str) -> None:
    """The bound itself is enough."""
    assert verdict(CHEAPER, ratio) == expected


def test_a_goal_without_ratios_is_not_measured() -> None:
    """It is neither met nor missed."""
    assert verdict(FASTER) == "not measured"


def test_every_goal_is_in_the_outcome() -> None:
    """Goals of other words are listed as not measured, even where a figure of theirs exists."""
    rounds = [{ACCEPT: {"rate": 100.0}, PEER: {"rate": 10.0, "total": 8.0}, CHAIN: {"total": 1.0}}]
    outcomes = judge(rounds, ["ingest"])
    assert [outcome.goal for outcome in outcomes] == list(GOALS)
    measured = {outcome.goal.figure: outcome.verdict for outcome in outcomes if outcome.ratios}
    assert measured == {Figure(ACCEPT, "rate"): "MISSED"}


def test_every_word_measures_what_its_goals_compare() -> None:
    """Else a goal could never be met."""
    for goal in GOALS:
        sides = {side.measurement for side in (goal.figure, goal.beside) if side}
        assert sides <= set(MEASURED[goal.word]), goal.title
    assert set(MEASURED) == set(WORDS)


def test_a_missed_goal_fails_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """One that was not measured is named too, and fails nothing."""
    assert assert_goals([Outcome(goal=FASTER, ratios=(2.5,)), Outcome(goal=CHEAPER)]) == 0
    assert capsys.readouterr().err == "not measured: ingest: our cost beside theirs\n"
    assert assert_goals([Outcome(goal=FASTER, ratios=(1.5,))]) == 1
    assert capsys.readouterr().err == "MISSED: ingest: ours beside theirs\n"


def test_the_first_round_warms_up() -> None:
    """Its figures are left out."""
    numbers = iter([1.0, 2.0, 3.0])
    rounds, _ = measure({HALF: lambda: {"p50": next(numbers)}}, 2)
    assert rounds == [{HALF: {"p50": 2.0}}, {HALF: {"p50": 3.0}}]


def test_what_cannot_be_measured_is_tried_once() -> None:
    """The reason is reported, and the others are measured all the same."""
    tries = []

    def refuse() -> dict[str, float]:
        tries.append(1)
        raise NotMeasured("nobody is here")

    rounds, reasons = measure({PEER: refuse, HALF: lambda: {"p50": 1.0}}, 2)
    assert (rounds, reasons, len(tries)) == ([{HALF: {"p50": 1.0}}] * 2, {PEER: "nobody is here"}, 1)
