"""Run the tests of the guarantees on PostgreSQL behind PgBouncer, whose transactions share connections.

`python3 -m tests.stress.pooled [arguments for pytest]`

Needs a PostgreSQL on a port (CHECKOUT_TEST_POSTGRES) and Debian's package pgbouncer. Exit code 0 when all passed.
"""

from __future__ import annotations

import os
import subprocess
import sys

from example_project.environment import EnvironmentFailed, enter
from tests.__main__ import recipe
from tests.support.services import POSTGRES

TESTS = ["tests/flows/database", "tests/views", "-m", "not slow and not browser", "-n", "2"]
"""What is run with the guarantees if no arguments are given: as in the everyday run, with a sample of long tables."""
LEFT_OUT = [
    # Ends connections of the server, which a pooler does not pass on to its client until the next transaction.
    "tests/flows/outbox/test_messages.py::test_runner_though_the_connection_was_lost",
    # Sets limits of a session, which the pooler hands on to the next client.
    "tests/flows/outbox/test_limits.py",
]


def main() -> int:
    """Enter the environment of the tests, start the pooler, and run pytest with its address."""
    try:
        enter("tests", recipe(os.environ), ["-m", "tests.stress.pooled", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.stress.pooled.pooler import PoolerMissing, pooler
    from tests.support.scale import EVERYDAY, GUARANTEES, RUN

    try:
        with pooler(os.environ.get(POSTGRES)) as url:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            command += [f"--deselect={each}" for each in LEFT_OUT]
            environment = {**os.environ, POSTGRES: url, "CHECKOUT_TEST_DATABASE": "postgres"}
            environment[RUN] = "" if sys.argv[1:] else EVERYDAY
            return subprocess.run(
                [*command, *(sys.argv[1:] or [*GUARANTEES, *TESTS])], check=False, env=environment
            ).returncode
    except PoolerMissing as missing:
        print(missing, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
