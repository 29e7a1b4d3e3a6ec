"""The command: start everything on free ports in a throwaway folder, make the journeys, say how it went."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from example_project.check.steps import Report, Step
from example_project.ports import free_pair
from example_project.processes import Places, ProcessDied, running


def run(*, as_json: bool, profile: str = "field") -> int:
    """Return 0 when every journey went well against the service in that profile, else 1."""
    report = Report(stream=sys.stderr if as_json else sys.stdout)
    with tempfile.TemporaryDirectory(prefix="checkout-example-") as folder:
        port = free_pair()
        places = Places(folder=Path(folder), shop_port=port, service_port=port + 1, profile=profile)
        _walk(report, places)
    if as_json:
        print(report.as_json())
    else:
        print(f"{len(report.steps)} steps: {'all went well' if report.ok else 'FAILED'}.")
    return 0 if report.ok else 1


def _walk(report: Report, places: Places) -> None:
    started_at = time.monotonic()

    def tell(name: str, ok: bool, detail: str) -> None:
        report.add(Step(name=name, ok=ok, seconds=round(time.monotonic() - started_at, 3), detail=detail))

    try:
        with running(places) as started:
            tell("start", True, f"shop, service ({places.profile}) and worker")
            # The journeys use the shop's models, which Django has loaded by now.
            from example_project.check.journeys import Journeys

            for name, journey in Journeys(places).all().items():
                report.run(name, journey)
            started.raise_if_one_died()
            started_at = time.monotonic()
        tell("stop", True, "all processes ended")
    except ProcessDied as died:
        tell("processes", False, str(died))


def main() -> int:
    """Run in the environment at hand: ``python -m example_project.check.command [--json] [--profile spec]``."""
    parser = argparse.ArgumentParser(prog="python -m example_project.check.command", description=__doc__)
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON; progress goes to stderr"
    )
    parser.add_argument(
        "--profile", choices=["field", "spec"], default="field", help="how the service behaves"
    )
    options = parser.parse_args()
    return run(as_json=options.json, profile=options.profile)


if __name__ == "__main__":
    sys.exit(main())
