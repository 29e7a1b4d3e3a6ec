"""Changes of a project's settings, stored over restarts in the sandbox's state.

The value of a setting at the start is stored together with its change. If the sandbox is later started with another value,
for instance with a new secret, that value counts. A change is restored only if the value at the start is the same as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, Final

from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.wire.json_text import read_json, write_json

_NOT_SAVED: Final = {"project_id", "catalogue", "unsafe_allow_any_secret", "unsafe_allow_any_webhook"}
_SAVED: Final = [item.name for item in fields(SandboxProject) if item.name not in _NOT_SAVED]


def keep_changes(store: Store, projects: Projects) -> None:
    """Change `projects` as they were changed in former runs, and store the changes of this one."""
    given = {project.project_id: project for project in projects.all()}
    for project in given.values():
        _restore(store, projects, project)
    projects.subscribe(partial(_save, store, given))


def _restore(store: Store, projects: Projects, project: SandboxProject) -> None:
    stored: dict[str, list[Any]] = read_json(store.remembered(_key_of(project)) or "{}")
    changes = {
        name: changed
        for name, (given, changed) in stored.items()
        if name in _SAVED and given == _as_stored(getattr(project, name))
    }
    with suppress(ValueError):  # a change that does not go with the other settings any more
        projects.update(project.project_id, **changes)


def _save(store: Store, given: Mapping[str, SandboxProject], project: SandboxProject) -> None:
    before = given.get(project.project_id, project)
    pairs = {name: [_as_stored(getattr(item, name)) for item in (before, project)] for name in _SAVED}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    store.remember(_key_of(project), write_json(changed))


def _key_of(project: SandboxProject) -> str:
    return f"project {project.project_id}"


def _as_stored(value: Any) -> Any:
    """Return the value as JSON reads it."""
    return read_json(write_json(value))
