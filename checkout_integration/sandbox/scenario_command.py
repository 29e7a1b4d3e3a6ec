"""`python -m checkout_integration.sandbox run scenarios/…`: scenarios against a shop's receiver.

A sandbox that runs at the given address is driven there; else one is started for as long as the scenarios last.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from checkout_integration.sandbox.project import SandboxProject
from checkout_integration.sandbox.sandbox import Sandbox
from checkout_integration.sandbox.scenario_file import (
    Scenario,
    ScenarioError,
    find_scenarios,
    shipped_scenarios,
)
from checkout_integration.sandbox.scenario_run import ScenarioEnd, run_scenario
from checkout_integration.sandbox.scenario_service import Refused, ScenarioService, Unreachable
from checkout_integration.sandbox.scenario_steps import Given
from checkout_integration.sandbox.server import SandboxServer

AS_EXPECTED: Final = 0
NOT_AS_EXPECTED: Final = 1
WRONG_USAGE: Final = 2
UNREACHABLE: Final = 3
_EXAMPLE_SECRET: Final = "sandbox_secret_key"


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m checkout_integration.sandbox run",
        description="Play scenarios to a shop's receiver. Exit code: 0 all went as expected, 1 not, 2 wrong usage,"
        " 3 the shop or the service does not answer.",
    )
    parser.add_argument("scenarios", nargs="*", help="files, folders, or names of shipped scenarios")
    parser.add_argument("--list", action="store_true", help="list the shipped scenarios")
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON; the log goes to stderr"
    )

    def option(name: str, default: str, text: str) -> None:
        variable = "SANDBOX_" + name.strip("-").replace("-", "_").upper()
        parser.add_argument(name, default=environment.get(variable, default), help=text)

    option("--host", "127.0.0.1", "address of the sandbox")
    option("--port", "8090", "its port; 0 starts one on a free port")
    option("--profile", "field", "behaviour of a sandbox that is started")
    option("--project-id", "sandbox-project", "identifier of the project")
    option("--secret-key", _EXAMPLE_SECRET, "its secret; must begin with sandbox_")
    option("--webhook-url", "", "the shop's receiver")
    option("--previous-secret-key", "", "a secret from before, which the shop still accepts")
    option("--known-user", "", "external_id of a customer whom the shop approves")
    option("--status-url", "", "tells as JSON what the shop made of an order: http://…/{order_id}")
    option("--sync-url", "", "POST makes the shop read the list")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, and return the exit code."""
    parser = _parser(os.environ)
    chosen = parser.parse_args(arguments)
    try:
        if chosen.list:
            for scenario in shipped_scenarios():
                print(f"{scenario.name:32}{scenario.title}")
            return AS_EXPECTED
        scenarios = [each for asked in chosen.scenarios for each in find_scenarios(asked)]
        if not scenarios:
            parser.error("name a scenario, or ask for the --list of those that are shipped")
        return _play(chosen, scenarios)
    except (ScenarioError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    except (Unreachable, Refused) as error:
        print(error, file=sys.stderr)
        return UNREACHABLE


def _play(chosen: argparse.Namespace, scenarios: Sequence[Scenario]) -> int:
    stream = sys.stderr if chosen.json else sys.stdout
    ends: list[ScenarioEnd] = []
    for scenario in scenarios:
        with _service(chosen, scenario) as service:
            require_listening(str(service.project()["webhook_url"]))
            ends.append(
                run_scenario(scenario, service, _given(chosen), lambda line: print(line, file=stream))
            )
    ok = all(end.ok for end in ends)
    if chosen.json:
        print(json.dumps({"ok": ok, "scenarios": [end.document() for end in ends]}))
    else:
        failed = [end.name for end in ends if not end.ok]
        print(f"{len(ends)} played, {'all as expected' if ok else 'NOT AS EXPECTED: ' + ', '.join(failed)}.")
    return AS_EXPECTED if ok else NOT_AS_EXPECTED


def _given(chosen: argparse.Namespace) -> Given:
    return Given(
        previous_secret_key=chosen.previous_secret_key,
        known_user=chosen.known_user,
        status_url=chosen.status_url,
        sync_url=chosen.sync_url,
    )


def require_listening(webhook_url: str) -> None:
    """Raise Unreachable unless somebody listens at the receiver's address, ValueError when there is none."""
    if not webhook_url:
        raise ValueError("the project sends no notifications: give the shop's receiver as --webhook-url")
    parts = urlsplit(webhook_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not _listens(parts.hostname or "", port):
        raise Unreachable(f"the shop does not answer at {parts.scheme}://{parts.netloc}: start it first")


@contextmanager
def _service(chosen: argparse.Namespace, scenario: Scenario) -> Iterator[ScenarioService]:
    """Give the sandbox at the address, or one that lasts as long as the scenario."""
    port = int(chosen.port)
    if port and _listens(chosen.host, port):
        yield ScenarioService(f"http://{chosen.host}:{port}", chosen.project_id, chosen.secret_key)
        return
    project = SandboxProject(
        project_id=chosen.project_id, secret_key=chosen.secret_key, webhook_url=chosen.webhook_url
    )
    profile = scenario.profile or chosen.profile
    with Sandbox([project], profile=profile) as sandbox, SandboxServer(sandbox, chosen.host, port) as server:
        yield ScenarioService(server.url, chosen.project_id, chosen.secret_key)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True
