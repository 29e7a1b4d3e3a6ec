"""What the specification leaves open is on a page: each silence that code decides, with its setting or its rule."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES
from checkout_integration.hooks import Hooks
from checkout_integration.protocol.vocabulary import INVALID_SIGNATURE_CODE, INVALID_USER_CODE
from tests.specification.mapping import ROOT, statements

PAGE = ROOT / "docs" / "open-questions.md"
PACKAGE = ROOT / "checkout_integration"
PROFILES = ROOT / "docs" / "reference" / "sandbox.md"
DECIDING = ("protocol", "policy", "client", "conf", "flows", "api", "hooks.py", "sandbox")
"""The parts that decide what is sent, read and done: by the client and the app, and by the sandbox."""
SILENCE = re.compile(
    r"deployed services|specification (does not (show|say)|shows no|lists no|has no|defines)|not in the specification"
    r"|does not say what",
    re.IGNORECASE,
)
ID = re.compile(r"\b[A-Z]{2}[A-Z0-9]-\d\d\b")
ROW = re.compile(r"^\| ([A-Z].*?|–) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
EXAMPLE = '''
LIMIT = 18  # as deployed services

def read():
    """Return it; the specification
    does not show how (EP3-08)."""

# Deployed services send
# another one (HTT-16).
CODE = "an error of deployed services"
'''


def rows() -> list[tuple[str, ...]]:
    """Return the rows of the page, without its heading."""
    return [row for row in ROW.findall(PAGE.read_text(encoding="utf-8")) if row[0] != "Statement"]


def listed() -> set[str]:
    """Return the statements that have a row; "STA-03 to STA-07" are five."""
    found = set()
    for text, *_ in rows():
        found.update(ID.findall(text))
        for chapter, first, last in re.findall(r"([A-Z0-9]{3})-(\d\d) to \1-(\d\d)", text):
            found.update(f"{chapter}-{number:02}" for number in range(int(first), int(last) + 1))
    return found


def profile_lines() -> list[str]:
    """Return the lines of the table of the sandbox's two profiles, without its heading."""
    table = PROFILES.read_text(encoding="utf-8").partition("## Two profiles\n")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


def departures() -> set[str]:
    """Return the statements from which deployed services depart, and the sandbox's profile `field` with them."""
    return {found for line in profile_lines() for found in ID.findall(line.split(" | ")[0])}


def remarks(source: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring and each comment, of several lines where they follow each other, with its first line's number."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, " ".join(node.value.value.split())
    comment: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if comment and line != last + 1:
                yield first, " ".join(comment)
                comment = []
            first = line if not comment else first
            last = line
            comment.append(token.string.lstrip("# "))
    if comment:
        yield first, " ".join(comment)


@cache
def decided() -> tuple[tuple[str, set[str]], ...]:
    """Return the place of each remark on a silence, and the statements that it cites."""
    return tuple(_decided())


def _decided() -> Iterator[tuple[str, set[str]]]:
    for part in DECIDING:
        place = PACKAGE / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for line, text in remarks(path.read_text(encoding="utf-8")):
                if SILENCE.search(text):
                    yield f"{path.relative_to(PACKAGE)}:{line}", set(ID.findall(text))


def test_remarks_are_read_whole() -> None:
    """Docstrings and comments, over their lines; texts of the program are none."""
    assert sorted(remarks(EXAMPLE)) == [
        (2, "as deployed services"),
        (5, "Return it; the specification does not show how (EP3-08)."),
        (8, "Deployed services send another one (HTT-16)."),
    ]


def test_a_silence_that_code_decides_names_its_statement() -> None:
    """So that a reader finds the question, the setting and the values that were tried."""
    assert [place for place, cited in decided() if not cited] == []


def test_a_silence_that_code_decides_is_on_the_page() -> None:
    """Each statement that is cited there has a row; where the sandbox departs from one, in the table of its profiles."""
    known, departing = listed(), departures()
    assert departing
    missing = [
        f"{place} {sorted(cited - known)}"
        for place, cited in decided()
        if not cited & (known | departing if place.startswith("sandbox/") else known)
    ]
    assert missing == []


@pytest.mark.parametrize(
    "statement", ["EP1-23", "WHK-05", "USR-01", "USR-03", "EP4-02", "EP4-03", "ORD-34", "EVT-12", "EP3-08"]
)
def test_code_says_which_silence_it_decides(statement: str) -> None:
    """Silences without the words "not shown" are found by what code says of them."""
    assert [place for place, cited in decided() if statement in cited] != []


def test_the_sandbox_is_read_too() -> None:
    """What it answers is a reading of the specification like the client's."""
    rooms = {place.split("/")[1] for place, _ in decided() if place.startswith("sandbox/")}
    assert {"api", "form", "notify", "orders", "payments", "wire"} <= rooms


def test_each_line_of_the_profiles_names_its_statement() -> None:
    """A departure of deployed services is one from a statement that exists."""
    assert len(profile_lines()) >= 35
    assert [line for line in profile_lines() if not ID.findall(line.split(" | ")[0])] == []
    assert departures() <= {each.id for each in statements()}


def test_what_the_specification_calls_not_shown_is_on_the_page() -> None:
    """Whether code decides it or not."""
    silent = {each.id for each in statements() if "not shown" in each.text}
    assert len(silent) == 14
    assert silent - listed() == set()


def test_the_page_names_statements_and_settings_that_exist() -> None:
    """A row has statements of the specification, and settings or a rule."""
    known = {each.id for each in statements()}
    settings = APP_NAMES | PROJECT_NAMES
    for text, question, answer, default, tried in rows():
        assert set(ID.findall(text)) <= known, text
        named = set(re.findall(r"`([A-Z][A-Z_]{3,})`", answer)) - {INVALID_SIGNATURE_CODE, INVALID_USER_CODE}
        assert named <= settings, answer
        hooks = re.findall(r"`Hooks\.(\w+)`", answer)
        assert all(hasattr(Hooks, name) for name in hooks), answer
        assert answer.startswith("rule: ") or named, question
        assert default and tried


def test_each_question_stands_once() -> None:
    """Two rows with one question would answer it twice."""
    questions = [row[1] for row in rows()]
    assert len(questions) == len(set(questions)) >= 50
    assert Path(PAGE).read_text(encoding="utf-8").count("\n|") == len(questions) + 2
