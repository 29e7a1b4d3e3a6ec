"""Run the example shop: `python3 -m example_project`.

Makes its own environment, then starts the shop, the service (played by the sandbox) and a worker. `--check` walks through all
journeys without a browser instead. Needs Python 3.11, pip or uv, and nothing else.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from example_project.environment import ROOT, EnvironmentFailed, Recipe, enter

RECIPE = Recipe(extras=("celery", "sandbox"))


def main() -> int:
    """Enter the environment of the example, then run it."""
    parser = argparse.ArgumentParser(
        prog="python3 -m example_project", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--port", type=int, default=8000, help="of the shop; the service takes the next one")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".example", help="folder for databases, queue and logs"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="walk through every journey in a throwaway folder, and say how it went",
    )
    parser.add_argument("--json", action="store_true", help="with --check: print the result as JSON")
    parser.add_argument(
        "--profile",
        choices=["field", "spec"],
        default="field",
        help="the service behaves as deployed ones do (field), or to the letter of the specification (spec)",
    )
    parser.add_argument("--empty", action="store_true", help="begin without earlier sales")
    options = parser.parse_args()
    try:
        enter("example", RECIPE, ["-m", "example_project", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    if options.check:
        from example_project.check.command import run as check

        return check(as_json=options.json, profile=options.profile)
    from example_project.demonstration import run

    return run(options.folder.resolve(), options.port, options.profile, earlier_sales=not options.empty)


if __name__ == "__main__":
    sys.exit(main())
