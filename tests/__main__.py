"""Run the tests on this machine: `python3 -m tests [--all | --rest] [--database NAME] [--browser] [arguments for pytest]`.

Makes its own environment and runs what a change needs, within five minutes: the everyday tests on SQLite, and those of the
guarantees on a real PostgreSQL. `--all` runs everything: on SQLite with a real Redis, then the tests that use the database
once more on a real PostgreSQL and, beside it, on the MariaDB that CHECKOUT_TEST_MARIADB names. `--rest` runs what of this the
everyday run has left out. A named file or folder is run whole, on each database.
Ends with one summary; the exit code is 0 when every run passed and nothing required was left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from example_project.environment import EnvironmentFailed, Recipe, enter
from tests.support.services import MARIADB

DATABASES = ("sqlite", "postgres", "mariadb")


def main() -> int:
    """Enter the environment of the tests, then run them."""
    parser = argparse.ArgumentParser(prog="python3 -m tests", description=__doc__.partition("\n")[0])
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument(
        "--all", action="store_true", help="run every test, on every database that this machine has"
    )
    parts.add_argument(
        "--rest", action="store_true", help="run what of this a run without options leaves out"
    )
    parser.add_argument("--database", choices=DATABASES, help="run on this database only")
    parser.add_argument(
        "--browser", action="store_true", help="run the tests that need Chromium, and no others"
    )
    options, for_pytest = parser.parse_known_args()
    try:
        enter("tests", recipe(os.environ), ["-m", "tests", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.support.suite import run

    return run(
        (options.database,) if options.database else DATABASES,
        for_pytest,
        browser=options.browser,
        part=part_of(options, for_pytest),
    )


def part_of(options: argparse.Namespace, for_pytest: Sequence[str]) -> str:
    """Return which run of `tests.support.scale` is meant; "" for tests that are named."""
    if any(map(is_path, for_pytest)):
        return ""
    return "all" if options.all else "rest" if options.rest else "everyday"


def is_path(argument: str) -> bool:
    """Return whether an argument for pytest names tests; what is named is run whole, on each database."""
    return not argument.startswith("-") and Path(argument.partition("::")[0]).exists()


def recipe(environment: Mapping[str, str]) -> Recipe:
    """Return what the tests need; MariaDB's driver, which has to be compiled, where there is a MariaDB to test on."""
    compiled = ("mariadb",) if environment.get(MARIADB) else ()
    return Recipe(extras=("all",), groups=("tests", "browser"), wheels=("servers",), compiled=compiled)


if __name__ == "__main__":
    sys.exit(main())
