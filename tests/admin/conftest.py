"""The shop's fixtures."""

from __future__ import annotations

from tests.flows.conftest import _not_installed, database_away, hooks, listen

__all__ = ["_not_installed", "database_away", "hooks", "listen"]
