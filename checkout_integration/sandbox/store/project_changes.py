"""Changes of a project's settings, stored over restarts in the sandbox's state.

The value of a setting at the start is stored together with its change. If the sandbox is later started with another value,
for instance with a new secret, that value counts. A change is restored only if the value at the start is the same as before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import Any, Final

from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.store.database import Store
from checkout_integration.sandbox.wire.json_text import read_json, write_json

_NOT_SAVED: Final = {"project_id", "catalogue", "unsafe_allow_any_secret", "unsafe_allow_any_webhook"}
_SAVED: Final = [item.name for item in fields(SandboxProject) if item.name not in _NOT_SAVED]


class ProjectChanges:
    """The changed settings: those of former runs are restored, those of this one stored."""

    def __init__(self, store: Store, projects: Projects) -> None:
        """Change `projects` as they were changed before."""
        self._store = store
        self._given = {project.project_id: project for project in projects.all()}
        for project in projects.all():
            self._restore(projects, project)
        projects.subscribe(self._save)

    def _restore(self, projects: Projects, project: SandboxProject) -> None:
        stored: dict[str, list[Any]] = read_json(self._store.remembered(_key_of(project)) or "{}")
        changes = {
            name: changed
            for name, (given, changed) in stored.items()
            if name in _SAVED and given == _as_stored(getattr(project, name))
        }
        with suppress(ValueError):  # a change that does not go with the other settings any more
            projects.update(project.project_id, **changes)

    def _save(self, project: SandboxProject) -> None:
        given = self._given.get(project.project_id, project)
        pairs = {name: [_as_stored(getattr(item, name)) for item in (given, project)] for name in _SAVED}
        changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        self._store.remember(_key_of(project), write_json(changed))


def _key_of(project: SandboxProject) -> str:
    return f"project {project.project_id}"


def _as_stored(value: Any) -> Any:
    """Return the value as JSON reads it."""
    return read_json(write_json(value))
