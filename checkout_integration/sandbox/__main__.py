"""`python -m checkout_integration.sandbox`, and `… run SCENARIO`."""

from __future__ import annotations

import sys

from checkout_integration.sandbox.command_line import main
from checkout_integration.sandbox.scenario_command import main as play

if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        sys.exit(play(sys.argv[2:]))
    sys.exit(main())
