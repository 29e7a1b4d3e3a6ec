"""Change the code in hundreds of small ways and see the tests notice.

`python3 -m tests.stress.mutants [part ...] [--workers 2]`

mutmut makes the mutants and runs the narrow tests on each (pyproject.toml, tool.mutmut). Prints a score for each part; exit
code 0 when each is at least 90 %, 1 otherwise. Takes minutes, so it belongs to the full run by hand.
"""

from __future__ import annotations

import argparse
import os
import sys

from example_project.environment import EnvironmentFailed, Recipe, enter
from tests.stress.mutants.score import PARTS, run

RECIPE = Recipe(extras=("all",), groups=("tests", "mutation"))


def main() -> int:
    """Enter an environment with mutmut, then run it."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.stress.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all unless named")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants tested at a time")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    try:
        enter("mutation", RECIPE, ["-m", "tests.stress.mutants", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    return run(options.parts or list(PARTS), workers=options.workers)


if __name__ == "__main__":
    sys.exit(main())
