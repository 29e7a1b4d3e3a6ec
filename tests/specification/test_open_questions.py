"""What the specification leaves open is on a page: each silence that code decides, with its setting or its rule."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES
from checkout_integration.hooks import Hooks
from checkout_integration.protocol.vocabulary import INVALID_SIGNATURE_CODE, INVALID_USER_CODE
from tests.specification.mapping import ROOT, statements

PAGE = ROOT / "docs" / "open-questions.md"
PACKAGE = ROOT / "checkout_integration"
DECIDING = ("protocol", "policy", "client", "conf", "flows", "hooks.py")
"""The parts of the app that decide what is sent, read and done; the sandbox's profiles have a table of their own."""
SILENCE = re.compile(
    r"deployed services|specification (does not (show|say)|shows no|lists no)|not in the specification|does not say what",
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


def decided() -> Iterator[tuple[str, set[str]]]:
    """Yield the place of each remark on a silence, and the statements that it cites."""
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
    """Each statement that is cited there has a row."""
    known = listed()
    assert [f"{place} {sorted(cited - known)}" for place, cited in decided() if not cited & known] == []


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
