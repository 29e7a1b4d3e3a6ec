"""Stories of the service, played to a shop's receiver. The stories are the YAML files in this folder.

- `command`: `python -m checkout_integration.sandbox run`
- `scenario_file`: a story read from its file
- `runner`: a story played step by step
- `steps`: what each verb does
- `expectations`: what a step expects
- `service`: the sandbox and the shop, called over HTTP
"""

from __future__ import annotations

from checkout_integration.sandbox.scenarios.command import main

__all__ = [
    "main",
]
