"""`python -m checkout_integration.sandbox`, and `… run SCENARIO`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def _run(words: Sequence[str]) -> int:
    try:
        from checkout_integration.sandbox.scenarios.command import main as play
        from checkout_integration.sandbox.server.command_line import main
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        print(f"The sandbox needs {missing}: pip install 'checkout-integration[sandbox]'.", file=sys.stderr)
        return 2
    return play(words[1:]) if words[:1] == ["run"] else main(words)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
