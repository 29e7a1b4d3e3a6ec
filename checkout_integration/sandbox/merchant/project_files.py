"""The files that the command reads: projects, and the products of a catalogue. Errors name the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from checkout_integration.sandbox.merchant.catalogue import Product, read_catalogue
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json


def read_projects(path: str) -> list[SandboxProject]:
    """Read projects from a JSON array; `catalogue` in one of them is the path of its own JSON file.

    Raises:
        ValueError: it holds something else.
        OSError: it cannot be read.
    """
    with _named(path):
        entries = read_json(Path(path).read_bytes())
        if (
            not isinstance(entries, list)
            or not entries
            or not all(isinstance(item, dict) for item in entries)
        ):
            raise ValueError("a file of projects is a JSON array of objects")
        projects = [_project_of(item) for item in entries]
        if len({project.project_id for project in projects}) < len(projects):
            raise ValueError("two projects have the same project_id")
    return projects


def catalogue_at(path: str) -> tuple[Product, ...] | None:
    """Read the products of a file; None without a path.

    Raises:
        ValueError: it holds something else.
        OSError: it cannot be read.
    """
    if not path:
        return None
    with _named(path):
        return read_catalogue(Path(path).read_bytes())


def _project_of(entry: Mapping[str, Any]) -> SandboxProject:
    known = {item.name: item.default is MISSING for item in fields(SandboxProject)}
    unknown = sorted(set(entry) - set(known))
    missing = [name for name, needed in known.items() if needed and name not in entry]
    if unknown:
        raise ValueError(f"a project has no {', '.join(unknown)}; {', '.join(sorted(known))}")
    if missing:
        raise ValueError(f"each project needs {', '.join(missing)}")
    catalogue = entry.get("catalogue") or ""
    if not isinstance(catalogue, str):
        raise ValueError("catalogue is the path of a file")
    return SandboxProject(**{**entry, "catalogue": catalogue_at(catalogue)})


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Put the file's name before the message of an error."""
    try:
        yield
    except NotJsonError:
        raise ValueError(f"{path}: this cannot be read as JSON") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
