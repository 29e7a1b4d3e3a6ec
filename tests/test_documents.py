"""Every block of Python and of shell commands that a page shows is executed by a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support.documents import PAGES, ROOT, blocks_of, name_of

IN_THE_GATE = {("README.md", "$ python3 -m example_project"), ("README.md", "$ python3 -m tests")}
"""Commands that a test cannot run, since they run the tests or run until they are stopped: `.ci/run` does."""


def calls_of(function: str) -> Iterator[list[str]]:
    """The arguments of each call of this function of `tests.support.documents` in the tests."""
    for file in (ROOT / "tests").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if f"{function}(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                assert all(isinstance(argument, ast.Constant) for argument in node.args), file
                yield [ast.literal_eval(argument) for argument in node.args]


HOUSE = ("First steps", "How to", "For staff")
"""Sections of docs/README.md whose pages are read from the top; those of `docs/reference` are for looking things up."""


def pages_of(section: str) -> list[str]:
    """The pages in docs that a section of docs/README.md lists."""
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    rows = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"\]\(([\w-]+\.md)\)", rows)


SNIPPETS = {page for (page,) in calls_of("snippets")}


@pytest.mark.parametrize("document", sorted(set(PAGES) - SNIPPETS))
def test_each_block_has_a_name_of_its_own(document: str) -> None:
    """A comment that says where the code goes, or a command: a reader needs it, and so do the tests."""
    names = [name_of(block) for block in blocks_of(document)]
    assert [name for name in names if not name.startswith(("# ", "// ", "-- ", "$ "))] == []
    assert len(set(names)) == len(names)


def test_every_block_is_executed() -> None:
    """Untested examples become wrong. Execute one with `tests.support.documents.block`, or a page with `snippets`."""
    shown = {(page, name_of(block)) for page in set(PAGES) - SNIPPETS for block in blocks_of(page)}
    executed = {(page, name) for page, name in calls_of("block")}
    assert shown - IN_THE_GATE - executed == set()


@pytest.mark.parametrize(("document", "command"), sorted(IN_THE_GATE))
def test_the_gate_runs_the_commands_that_no_test_can(document: str, command: str) -> None:
    """The README's two commands are stages of `.ci/run`."""
    if not (ROOT / ".ci").exists():
        pytest.skip("a copy of the tests has no gate")
    assert command in [name_of(block) for block in blocks_of(document)]
    assert f"{command.removeprefix('$ ')}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [page for section in HOUSE for page in pages_of(section)])
def test_a_page_begins_with_what_its_reader_has_at_its_end(page: str) -> None:
    """In one sentence: so nobody reads a page that does not serve them."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    first = re.sub(r"\A# .+\n\n(<!--.+\n\n)?", "", text)
    assert first.startswith("At the end of this page"), first.partition("\n\n")[0]
