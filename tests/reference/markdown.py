"""Markdown of what the code defines: functions, classes, tables."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, is_typeddict

from tests.reference.docstrings import Docstring, attribute_texts, parsed

NO_TEXT = "–"
REQUIRED = "required"
OWN = ("self", "cls")


def section(made: Callable[[], str]) -> Callable[[], str]:
    """Mark a function as the maker of a part of a page, of the same name."""
    vars(made)["is_section"] = True
    return made


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; "" without rows."""
    lines = [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    if not lines:
        return ""
    head = [" | ".join(titles), " | ".join("---" for _ in titles)]
    return "\n".join(f"| {line} |" for line in [*head, *lines])


def joined(*parts: str) -> str:
    """Return paragraphs and tables, those that there are."""
    return "\n\n".join(part for part in parts if part)


def quoted(text: object) -> str:
    """Return the text as code."""
    return f"`{text}`"


def function(name: str, called: Callable[..., Any], level: int = 3, hidden: Sequence[str] = OWN) -> str:
    """Return the description of a function: what it does, its parameters but the hidden ones, what it returns and raises."""
    text = parsed(called)
    signature = inspect.signature(called)
    parameters = [each for each in signature.parameters.values() if each.name not in hidden]
    returned = _type(signature.return_annotation)
    return joined(
        f"{'#' * level} `{name}`",
        quoted(f"{name}({', '.join(_listed(parameters))})") if parameters else "",
        text.prose,
        _parameters(parameters, text),
        f"Returns {quoted(returned)}{f': {text.returns}' if text.returns else '.'}"
        if returned not in ("", "None")
        else "",
        _raises(text),
    )


def _listed(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters as they stand in a call, with a star before those that are given by name."""
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name


def _parameters(parameters: Sequence[inspect.Parameter], text: Docstring) -> str:
    described = bool(text.items)
    rows = [
        [
            quoted(each.name),
            quoted(_type(each.annotation)),
            _given(each),
            *([text.items.get(each.name, NO_TEXT)] if described else []),
        ]
        for each in parameters
    ]
    return table(["argument", "type", "default", *(["meaning"] if described else [])], rows)


def _given(parameter: inspect.Parameter) -> str:
    """Return the default of a parameter, or that there is none."""
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return NO_TEXT
    return REQUIRED if parameter.default is parameter.empty else quoted(_value(parameter.default))


def _raises(text: Docstring) -> str:
    return "\n".join(f"- raises `{name}`: {why}" for name, why in text.raises.items())


def _type(annotation: object) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    return str(getattr(annotation, "__forward_arg__", None) or getattr(annotation, "__name__", annotation))


def _value(value: object) -> str:
    if callable(value):
        return "…"
    return repr(str(value)) if isinstance(value, str) else repr(value).replace("datetime.", "")


def value_class(name: str, kind: type[Any], level: int = 3) -> str:
    """Return the description of a class of values: its fields, properties and methods."""
    text = parsed(kind)
    return joined(f"{'#' * level} `{name}`", text.prose, _fields(kind, text), _members(kind))


def _fields(kind: type[Any], text: Docstring) -> str:
    if is_typeddict(kind):
        keys = [
            [quoted(name), quoted(_type(each)), text.items.get(name, NO_TEXT)]
            for name, each in kind.__annotations__.items()
        ]
        return table(["key", "type", "meaning"], keys)
    below = attribute_texts(sys.modules[kind.__module__])
    meanings = text.items | {
        name: below[f"{kind.__name__}.{name}"]
        for name in getattr(kind, "__annotations__", {})
        if f"{kind.__name__}.{name}" in below
    }
    if not is_dataclass(kind):
        return table(["attribute", "meaning"], [[quoted(name), why] for name, why in text.items.items()])
    described = bool(meanings)
    rows = [
        [
            quoted(each.name),
            quoted(_type(each.type)),
            _default(each),
            *([meanings.get(each.name, NO_TEXT)] if described else []),
        ]
        for each in fields(kind)
    ]
    return table(["field", "type", "default", *(["meaning"] if described else [])], rows)


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return quoted(_value(field.default))
    if field.default_factory is MISSING:
        return REQUIRED
    return quoted(field.default_factory() if field.default_factory in (dict, frozenset, list) else "…")


def _members(kind: type[Any]) -> str:
    """Return the public properties and methods that a class defines itself."""
    rows = []
    for name, member in vars(kind).items():
        is_property = isinstance(member, property)
        if name.startswith("_") or not (
            is_property or inspect.isfunction(member) or isinstance(member, classmethod)
        ):
            continue
        rows.append([quoted(name if is_property else f"{name}()"), parsed(member).prose.partition("\n")[0]])
    return table(["member", "meaning"], rows)


def anything(name: str, thing: Any, level: int = 3, text: str = "") -> str:
    """Return the description of a public name, whatever it is."""
    if inspect.isclass(thing):
        return value_class(name, thing, level)
    if callable(thing):
        return function(name, thing, level)
    return joined(f"{'#' * level} `{name}`", text)
