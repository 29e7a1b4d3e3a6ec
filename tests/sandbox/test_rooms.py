"""The contents pages of the sandbox: the `__init__` of each room names the modules that others may import, and no others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checkout_integration import sandbox

FOLDER = Path(sandbox.__file__).parent
ROOMS = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield room and module of each import from the sandbox in a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{sandbox.__name__}."):
            room, _, module = str(node.module).removeprefix(f"{sandbox.__name__}.").partition(".")
            if room in ROOMS:
                yield from ((room, module or alias.name) for alias in node.names)


@cache
def imports() -> frozenset[tuple[str, str]]:
    """Return room and module of every import from outside of a room; read once, and by no run that only collects."""
    return frozenset(
        found
        for path in FOLDER.parent.rglob("*.py")
        for found in imported(path)
        if path.parent != FOLDER / found[0]
    )


@pytest.mark.parametrize("room", ROOMS)
def test_the_contents_page_names_what_others_may_import(room: str) -> None:
    """What it does not name is private to the room."""
    page = ast.get_docstring(ast.parse((FOLDER / room / "__init__.py").read_text("utf-8"))) or ""
    lines = [line for line in page.splitlines() if line.startswith("- `")]
    named = {name for line in lines if not (name := line.split("`")[1]).endswith("/")}
    assert named == {module for where, module in imports() if where == room}


@pytest.mark.parametrize("room", ROOMS)
def test_the_sandbox_names_every_room(room: str) -> None:
    """In its own docstring."""
    assert f"`{room}`" in (sandbox.__doc__ or "")
