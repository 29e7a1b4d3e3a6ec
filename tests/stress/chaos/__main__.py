"""Kill, crash and cut off the shop while it is being paid, then audit it.

`python3 -m tests.stress.chaos [--minutes 10] [--seed 1]`

Runs shop, service, workers, a PostgreSQL and a Redis of its own as real processes on loopback ports. Exit code 0 when nothing
was lost, done twice or left undone, and all that was planned was done; 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys

from example_project.environment import EnvironmentFailed, enter
from tests.__main__ import recipe
from tests.stress.chaos.plan import FULL_MINUTES, Plan


def main() -> int:
    """Enter the environment of the tests, then run the trial."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.stress.chaos", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--minutes", type=float, default=FULL_MINUTES, help="how long; everything else is in proportion"
    )
    parser.add_argument("--seed", type=int, default=1, help="decides the stories and the moments of harm")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    try:
        enter("tests", recipe(os.environ), ["-m", "tests.stress.chaos", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.stress.chaos.trial import run

    return run(Plan.of(options.minutes, options.seed), as_json=options.json, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
