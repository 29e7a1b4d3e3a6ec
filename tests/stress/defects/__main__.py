"""Put each seeded defect into a copy of the product and see its test go red.

`python3 -m tests.stress.defects [words of names]`

Exit code 0 when every defect was caught, and the same tests are green without any.
"""

from __future__ import annotations

import os
import sys

from example_project.environment import EnvironmentFailed, enter
from tests.__main__ import recipe


def main() -> int:
    """Enter the environment of the tests, then try the defects."""
    try:
        enter("tests", recipe(os.environ), ["-m", "tests.stress.defects", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.stress.defects.trial import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
