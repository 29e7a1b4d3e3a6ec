"""The registry of all projects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.wire.errors import RefusedError


class Projects:
    """All projects by identifier; thread-safe."""

    def __init__(self, projects: list[SandboxProject]) -> None:
        """Take the projects of the sandbox's start."""
        self._lock = threading.Lock()
        self._by_id = {project.project_id: project for project in projects}
        self._listeners: list[Callable[[SandboxProject], None]] = []

    def subscribe(self, listener: Callable[[SandboxProject], None]) -> None:
        """Call `listener` with each project whose settings were changed."""
        self._listeners.append(listener)

    def find(self, project_id: str) -> SandboxProject | None:
        """Return the project, or None."""
        return self._by_id.get(project_id)

    def get(self, project_id: str) -> SandboxProject:
        """Return the project of that name, the first one for "".

        Raises:
            RefusedError: 404, there is none.
        """
        project = self.find(project_id) if project_id else next(iter(self.all()), None)
        if project is None:
            raise RefusedError(404, "sb000005", "no such project")
        return project

    def all(self) -> list[SandboxProject]:
        """Return every project."""
        with self._lock:
            return list(self._by_id.values())

    def of_merchant(self, merchant: str) -> list[str]:
        """Return the identifiers of the merchant's projects (EP3-04)."""
        return [project.project_id for project in self.all() if project.merchant == merchant]

    def add(self, project: SandboxProject) -> None:
        """Add a project, or replace the one with its identifier."""
        with self._lock:
            self._by_id[project.project_id] = project

    def update(self, project_id: str, /, **changes: Any) -> SandboxProject:
        """Change settings of a project; existing orders retain secret, URL and live flag.

        Raises:
            KeyError: no such project.
            ValueError: an unknown setting, or a value that the project refuses.
        """
        known = {setting.name for setting in fields(SandboxProject)} - {"project_id", "catalogue"}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"unknown project settings: {', '.join(unknown)}")
        with self._lock:
            changed = replace(self._by_id[project_id], **changes)
            self._by_id[project_id] = changed
        for listener in self._listeners:
            listener(changed)
        return changed
