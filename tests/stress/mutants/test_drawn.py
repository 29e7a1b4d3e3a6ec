"""Drawing is fair and can be had again, and the tests that reach a function are found."""

from __future__ import annotations

from pathlib import Path

from tests.stress.mutants.draw import LEAST_OF_EACH, Place, difference, draw
from tests.stress.mutants.reached import noting, read

COUNTS = {"large": {"a.py": 900, "b.py": 100}, "small": {"c.py": 12}, "tiny": {"d.py": 2}}


def test_a_seed_draws_the_same_again() -> None:
    """And another seed something else."""
    assert draw(COUNTS, 1, 40) == draw(COUNTS, 1, 40) != draw(COUNTS, 2, 40)


def test_some_of_each_area_are_drawn_and_none_twice() -> None:
    """A small area is not lost beside a large one."""
    drawn = draw(COUNTS, 1, 40)
    areas = [area for area, _ in drawn]
    assert len(set(drawn)) == len(drawn) == 40
    assert areas.count("small") >= LEAST_OF_EACH
    assert areas.count("tiny") == 2


def test_the_rest_is_drawn_from_all_alike() -> None:
    """Each mutant that is left is as likely as any other, so a large file has more of them."""
    files = [place.file for _, place in draw(COUNTS, 1, 400)]
    assert files.count("a.py") > 5 * files.count("b.py")


def test_no_more_is_drawn_than_there_is() -> None:
    """All of a small product."""
    assert {place for _, place in draw({"tiny": {"d.py": 2}}, 1, 60)} == {Place("d.py", 0), Place("d.py", 1)}


def test_a_change_is_shown_with_its_line() -> None:
    """Lines are counted from 1."""
    assert difference("a\n  b = 1\nc\n", "a\n  b = 2\nc\n") == (2, "- b = 1\n+ b = 2")


CODE = '''"""A module."""

from __future__ import annotations


class Shop:
    """A class."""

    @property
    def name(self) -> str:
        """A docstring stays first."""

        def inner() -> str:
            return "here"

        return inner()


def other() -> int:
    return 1
'''


def test_a_function_notes_that_it_is_reached() -> None:
    """The outermost function around the line says so, before all else that it does."""
    lines = noting("shop.py", CODE, [14, 20]).splitlines()
    notes = [number for number, line in enumerate(lines) if ".note(" in line]
    assert [lines[number - 1].strip() or lines[number + 1].strip() for number in notes] == [
        "def inner() -> str:",
        "def other() -> int:",
    ]
    assert 'note("shop.py:14")' in lines[notes[0]]
    compile("\n".join(lines), "shop.py", "exec")


def test_tests_that_fail_by_themselves_show_nothing(tmp_path: Path) -> None:
    """Nor does a test count twice that two processes wrote."""
    report = tmp_path / "report.txt"
    rows = [
        "reached\ta.py:1\tx",
        "reached\ta.py:1\ty",
        "reached\ta.py:1\tx",
        "seconds\t0.5\tx",
        "failed\t\ty",
    ]
    report.write_text("".join(f"{row}\n" for row in rows))
    shown = read(report)
    assert (shown.tests, shown.seconds) == ({"a.py:1": ["x"]}, {"x": 0.5})
