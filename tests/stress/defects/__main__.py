"""Put each seeded defect into a copy of the product and see its test go red.

`python3 -m tests.stress.defects [--sample N] [words of names]`

A sample is drawn by the commit: the next commit tries others.
Exit code 0 when every defect was caught, and the same tests are green without any.
"""

from __future__ import annotations

import argparse
import os
import sys

from example_project.environment import EnvironmentFailed, enter
from tests.__main__ import recipe


def main() -> int:
    """Enter the environment of the tests, then try the defects."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.stress.defects", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("words", nargs="*", help="try only those with one of these words in their names")
    parser.add_argument("--sample", type=int, metavar="N", help="try only so many, drawn by the commit")
    options = parser.parse_args()
    try:
        enter("tests", recipe(os.environ), ["-m", "tests.stress.defects", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.stress.defects.trial import run

    return run(options.words, options.sample)


if __name__ == "__main__":
    sys.exit(main())
