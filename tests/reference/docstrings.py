"""Docstrings as Markdown: prose, the sections of a function, and the texts below attributes."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):$")
PAGE = re.compile(r"docs/([\w./-]+\.md)")
ITEM = re.compile(r"^    \*{0,2}(\w[\w.]*): (.*)$")


@dataclass(frozen=True, kw_only=True)
class Docstring:
    """A docstring in its parts; ``items`` are those of Args and Attributes by name."""

    prose: str
    items: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: dict[str, str] = field(default_factory=dict)


def parsed(thing: Any) -> Docstring:
    """Return the parts of something's docstring."""
    return parse(inspect.getdoc(thing) or "")


def parse(text: str) -> Docstring:
    """Return the parts of a docstring in Google's style."""
    sections: dict[str, list[str]] = {"": []}
    name = ""
    for line in text.splitlines():
        if found := SECTION.match(line):
            name = found[1]
        elif line[:1].strip():
            sections[""] += ["", line] if name else [line]
            name = ""
        else:
            sections.setdefault(name, []).append(line)
    items = _items([*sections.get("Args", ()), *sections.get("Attributes", ())])
    returns = markdown(textwrap.dedent("\n".join(sections.get("Returns", ()))))
    return Docstring(
        prose=markdown("\n".join(sections[""])),
        items=items,
        returns=" ".join(returns.split()),
        raises=_items(sections.get("Raises", ())),
    )


def _items(lines: Sequence[str]) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if found := ITEM.match(line):
            name = found[1]
            items[name] = [found[2]]
        elif line.strip():
            items[name].append(line.strip())
    return {name: markdown(" ".join(parts)) for name, parts in items.items()}


def markdown(text: str) -> str:
    """Return the text of a docstring as Markdown: one line per paragraph, literal blocks fenced."""
    return "\n\n".join(_paragraphs(text))


def _paragraphs(text: str) -> Iterator[str]:
    fenced = False
    for part in text.strip("\n").split("\n\n"):
        if not part.strip():
            continue
        if fenced and part.startswith("    "):
            yield f"```\n{textwrap.dedent(part)}\n```"
            continue
        fenced = part.rstrip().endswith("::")
        if part.lstrip().startswith("|"):
            yield code(part)
        elif prose := code(" ".join(part.split()).removesuffix("::").rstrip()):
            yield f"{prose}:" if fenced else prose


def code(text: str) -> str:
    """Return the text with code between single backticks, and pages as links from docs/reference."""
    return PAGE.sub(r"[\1](../\1)", text.replace("``", "`"))


@cache
def attribute_texts(module: ModuleType) -> dict[str, str]:
    """Return the texts below attributes by name; those of a class as ``Class.attribute``."""
    tree = ast.parse(inspect.getsource(module))
    texts = dict(_below(tree.body))
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            texts |= {f"{each.name}.{name}": text for name, text in _below(each.body)}
    return texts


def _below(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(body):
        if not isinstance(statement, ast.AnnAssign | ast.Assign):
            continue
        target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        text = following.value if isinstance(following, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield target.id, markdown(inspect.cleandoc(text.value))
