"""`python -m checkout_integration.sandbox`."""

from __future__ import annotations

import sys

from checkout_integration.sandbox.command_line import main

if __name__ == "__main__":
    sys.exit(main())
