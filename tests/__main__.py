"""Run the tests on this machine: `python3 -m tests [--database sqlite|postgres|all] [--browser] [arguments for pytest]`.

Makes its own environment, runs the whole suite on SQLite with a real Redis, then the tests that use the database once more on
a real PostgreSQL. Ends with one summary; the exit code is 0 when every run passed and nothing required was left out.
"""

from __future__ import annotations

import argparse
import sys

from example_project.environment import EnvironmentFailed, Recipe, enter

RECIPE = Recipe(extras=("all",), groups=("tests", "browser"), wheels=("servers",))


def main() -> int:
    """Enter the environment of the tests, then run them."""
    parser = argparse.ArgumentParser(prog="python3 -m tests", description=__doc__.partition("\n")[0])
    parser.add_argument("--database", choices=["sqlite", "postgres", "all"], default="all")
    parser.add_argument(
        "--browser", action="store_true", help="run the tests that need Chromium, and no others"
    )
    options, for_pytest = parser.parse_known_args()
    try:
        enter("tests", RECIPE, ["-m", "tests", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.suite import run

    return run(options.database, for_pytest, browser=options.browser)


if __name__ == "__main__":
    sys.exit(main())
