"""Measure the write path: `python3 -m benchmarks ingest chain receivers`.

Makes its own environment, then measures this app beside dj-stripe, one INSERT and a bare view. Needs Python 3.11, pip or uv,
and a PostgreSQL (`CHECKOUT_TEST_POSTGRES`). docs/benchmarks.md says how to read what it prints.
"""

from __future__ import annotations

import sys

from benchmarks.options import parse
from example_project.environment import EnvironmentFailed, Recipe, enter

EXTRAS, GROUPS = ("testing", "postgres"), ("benchmarks",)


def main() -> int:
    """Enter the environment of the benchmarks, then measure."""
    options = parse(sys.argv[1:])
    # MariaDB's driver is compiled; who measures on PostgreSQL needs no compiler.
    mariadb = options.database == "mariadb"
    name, groups = ("benchmarks-mariadb", (*GROUPS, "mariadb")) if mariadb else ("benchmarks", GROUPS)
    try:
        enter(name, Recipe(extras=EXTRAS, groups=groups), ["-m", "benchmarks", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from benchmarks.command import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
