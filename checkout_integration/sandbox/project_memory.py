"""Changes of a project's settings, kept over restarts in the sandbox's state.

WHY a setting's value at the start is kept beside its change: whoever starts the sandbox with another value, for instance
with the new secret of the shop's settings, means it. So a change comes back only where the start gives what it gave before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from decimal import Decimal
from typing import Any, Final

from checkout_integration.sandbox.json_text import read_json, write_json
from checkout_integration.sandbox.project import Projects, SandboxProject
from checkout_integration.sandbox.store import Store

_NOT_KEPT: Final = {"project_id", "catalogue", "unsafe_allow_any_secret", "unsafe_allow_any_webhook"}
_KEPT: Final = [each.name for each in fields(SandboxProject) if each.name not in _NOT_KEPT]


class ProjectMemory:
    """Brings the changes of former runs back, and keeps those of this one."""

    def __init__(self, store: Store, projects: Projects) -> None:
        """Change `projects` as they were changed before."""
        self._store = store
        self._given = {project.project_id: project for project in projects.all()}
        for project in projects.all():
            self._restore(projects, project)
        projects.subscribe(self._keep)

    def _restore(self, projects: Projects, project: SandboxProject) -> None:
        kept: dict[str, list[Any]] = read_json(self._store.remembered(_place(project)) or "{}")
        changes = {
            name: changed
            for name, (given, changed) in kept.items()
            if name in _KEPT and given == _plain(getattr(project, name))
        }
        with suppress(ValueError):  # a change that does not go with the other settings any more
            projects.update(project.project_id, **changes)

    def _keep(self, project: SandboxProject) -> None:
        given = self._given.get(project.project_id, project)
        pairs = {name: [_plain(getattr(each, name)) for each in (given, project)] for name in _KEPT}
        changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        self._store.remember(_place(project), write_json(changed))


def _place(project: SandboxProject) -> str:
    return f"project {project.project_id}"


def _plain(value: Any) -> Any:
    """Return the value as JSON gives it back."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float, Decimal)):
        return Decimal(str(value)).normalize()
    return [_plain(each) for each in value] if isinstance(value, tuple) else str(value)
