"""The shop of the flows' tests, for these too."""

from __future__ import annotations

from tests.flows.conftest import _not_installed, hooks, listen

__all__ = ["_not_installed", "hooks", "listen"]
