"""The shop's fixtures."""

from __future__ import annotations

from tests.flows.conftest import _not_installed, _nothing_refused, database_away, hooks, listen

__all__ = ["_not_installed", "_nothing_refused", "database_away", "hooks", "listen"]
