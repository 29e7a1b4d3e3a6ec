"""What every test shares: the product's own pytest plug-in, loaded once."""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.util import find_spec

PLUGIN = "checkout_integration.testing.plugin"

# An installed wheel brings the plug-in by its entry point; registering it a second time would be an error.
pytest_plugins = (
    [PLUGIN] if find_spec(PLUGIN) and PLUGIN not in {e.value for e in entry_points(group="pytest11")} else []
)
