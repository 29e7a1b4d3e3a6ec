"""Run the tests on this machine: `python3 -m tests [--quick] [--database NAME] [--browser] [arguments for pytest]`.

Makes its own environment, runs the whole suite on SQLite with a real Redis, then the tests that use the database once more on
a real PostgreSQL and, beside it, on the MariaDB that CHECKOUT_TEST_MARIADB names. Ends with one summary; the exit code is 0
when every run passed and nothing required was left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from example_project.environment import EnvironmentFailed, Recipe, enter
from tests.support.services import MARIADB

DATABASES = ("sqlite", "postgres", "mariadb")


def main() -> int:
    """Enter the environment of the tests, then run them."""
    parser = argparse.ArgumentParser(prog="python3 -m tests", description=__doc__.partition("\n")[0])
    parser.add_argument("--database", choices=[*DATABASES, "all"], default="all")
    parser.add_argument(
        "--browser", action="store_true", help="run the tests that need Chromium, and no others"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run the everyday tests: on SQLite, without tests/stress and those marked slow, a sample of long tables",
    )
    options, for_pytest = parser.parse_known_args()
    try:
        enter("tests", recipe(os.environ), ["-m", "tests", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.support.suite import run

    databases = DATABASES if options.database == "all" else (options.database,)
    return run(databases, for_pytest, browser=options.browser, quick=options.quick)


def recipe(environment: Mapping[str, str]) -> Recipe:
    """Return what the tests need; MariaDB's driver, which has to be compiled, where there is a MariaDB to test on."""
    compiled = ("mariadb",) if environment.get(MARIADB) else ()
    return Recipe(extras=("all",), groups=("tests", "browser"), wheels=("servers",), compiled=compiled)


if __name__ == "__main__":
    sys.exit(main())
