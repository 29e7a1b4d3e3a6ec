"""`python -m checkout_integration.sandbox`, and `… run SCENARIO`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def _run(words: Sequence[str]) -> int:
    try:
        from checkout_integration.sandbox.command_line import main
        from checkout_integration.sandbox.scenario_command import main as play
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        print(f"The sandbox needs {missing}: pip install 'checkout-integration[sandbox]'.", file=sys.stderr)
        return 2
    return play(words[1:]) if words[:1] == ["run"] else main(words)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
