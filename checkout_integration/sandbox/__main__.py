"""`python -m checkout_integration.sandbox`, `… play SCENARIO`, `… do VERB` and `… init`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def _run(words: Sequence[str]) -> int:
    try:
        from checkout_integration.sandbox.scenarios.command import main as play
        from checkout_integration.sandbox.scenarios.verbs import main as act
        from checkout_integration.sandbox.server.command_line import FIRST_SETTINGS, main
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        print(f"The sandbox needs {missing}: pip install 'checkout-integration[sandbox]'.", file=sys.stderr)
        return 2
    first = words[0] if words else ""
    if first in {"run", "play"}:
        return play(words[1:])
    if first == "init":
        print(FIRST_SETTINGS, end="")
        return 0
    return act(words[1:]) if first == "do" else main(words)


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
