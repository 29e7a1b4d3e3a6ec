"""The contents pages of the sandbox: what the `__init__` of each room lists is what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from checkout_integration import sandbox

FOLDER = Path(sandbox.__file__).parent
ROOMS = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_the_contents_page_names_every_module(room: str) -> None:
    """A new module gets a line, and a removed one loses it."""
    modules = {path.stem for path in (FOLDER / room).glob("*.py")} - {"__init__"}
    page = ast.get_docstring(ast.parse((FOLDER / room / "__init__.py").read_text("utf-8"))) or ""
    lines = [line for line in page.splitlines() if line.startswith("- `")]
    assert modules == {name for line in lines if not (name := line.split("`")[1]).endswith("/")}


@pytest.mark.parametrize("room", ROOMS)
def test_the_sandbox_names_every_room(room: str) -> None:
    """In its own docstring."""
    assert f"`{room}`" in (sandbox.__doc__ or "")
