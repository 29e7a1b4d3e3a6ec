"""`python -m checkout_integration.sandbox run scenarios/…`: scenarios against a shop's receiver.

A sandbox that runs at the given address is used; otherwise one is started for each scenario.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final
from urllib.parse import urlsplit

from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.sandbox import Sandbox
from checkout_integration.sandbox.scenarios.runner import ScenarioResult, missing_options, run_scenario
from checkout_integration.sandbox.scenarios.scenario_file import (
    Scenario,
    ScenarioError,
    find_scenarios,
    shipped_scenarios,
)
from checkout_integration.sandbox.scenarios.service import Refused, ScenarioService, Unreachable
from checkout_integration.sandbox.server.options import EXAMPLE_SECRET, PROFILES, Options, port, web_address
from checkout_integration.sandbox.server.server import SandboxServer

AS_EXPECTED: Final = 0
NOT_AS_EXPECTED: Final = 1
WRONG_USAGE: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130


def parser_for(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of stories."""
    parser = argparse.ArgumentParser(
        prog="python -m checkout_integration.sandbox run",
        description="Play scenarios to a shop's receiver. Exit code: 0 all went as expected, 1 not, 2 wrong usage,"
        " or nothing was played, 3 the shop or the service does not answer, 130 interrupted.",
    )
    parser.add_argument("scenarios", nargs="*", help="files, folders, or names of shipped scenarios")
    parser.add_argument("--list", action="store_true", help="list the shipped scenarios")
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON; the log goes to stderr"
    )

    options = Options(parser, environment)
    options.add("--host", "127.0.0.1", "address of the sandbox")
    options.add("--port", "8090", "its port; 0 starts one on a free port", read=port)
    options.add("--profile", "field", "behaviour of a sandbox that is started", choices=PROFILES)
    options.add("--project-id", "sandbox-project", "identifier of the project")
    options.add("--secret-key", EXAMPLE_SECRET, "its secret; must begin with sandbox_")
    options.add("--webhook-url", "", "the shop's receiver")
    options.add("--previous-secret-key", "", "a secret from before, which the shop still accepts")
    options.add("--known-user", "", "external_id of a customer whom the shop approves")
    options.add(
        "--status-url",
        "",
        "address of the shop's status of an order, as JSON: http://…/{order_id}",
        read=web_address,
    )
    options.add("--sync-url", "", "POST makes the shop read the list", read=web_address)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the named scenarios, and return the exit code."""
    parser = parser_for(os.environ)
    chosen = parser.parse_args(arguments)
    try:
        if chosen.list:
            for scenario in shipped_scenarios():
                print(f"{scenario.name:32}{scenario.title}")
            return AS_EXPECTED
        scenarios = [scenario for name in chosen.scenarios for scenario in find_scenarios(name)]
        if not scenarios:
            parser.error("name a scenario, or ask for the --list of those that are shipped")
        return _play(chosen, scenarios)
    except (ScenarioError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    except (Unreachable, Refused) as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    except KeyboardInterrupt:
        print("Interrupted: the story was not played to its end.", file=sys.stderr)
        return INTERRUPTED


def _play(chosen: argparse.Namespace, scenarios: Sequence[Scenario]) -> int:
    stream = sys.stderr if chosen.json else sys.stdout
    results: list[ScenarioResult] = []
    for scenario in scenarios:
        with _service(chosen, scenario) as service:
            require_listening(str(service.project()["webhook_url"]))
            results.append(run_scenario(scenario, service, chosen, lambda line: print(line, file=stream)))
    played = [result for result in results if not result.left_out]
    ok = bool(played) and all(result.ok for result in played)
    missing = sorted({option for scenario in scenarios for option in missing_options(scenario, chosen)})
    print(_in_words(played, len(results) - len(played), missing), file=stream)
    if chosen.json:
        counts = {"played": len(played), "left_out": len(results) - len(played)}
        print(json.dumps({"ok": ok, **counts, "scenarios": list(map(asdict, results))}))
    if not played:
        return WRONG_USAGE
    return AS_EXPECTED if ok else NOT_AS_EXPECTED


def _in_words(played: Sequence[ScenarioResult], left_out: int, missing: Sequence[str]) -> str:
    counts = f"{len(played)} played" + (f", {left_out} left out" if left_out else "")
    if not played:
        needs = f"give {', '.join(missing)}" if missing else "the lines above say what is missing"
        return f"{counts}: {needs}."
    failed = [result.name for result in played if not result.ok]
    return f"{counts}, {'NOT AS EXPECTED: ' + ', '.join(failed) if failed else 'all as expected'}."


def require_listening(webhook_url: str) -> None:
    """Raise Unreachable if the receiver's address does not accept connections, ValueError when there is no address."""
    if not webhook_url:
        raise ValueError("the project sends no notifications: give the shop's receiver as --webhook-url")
    parts = urlsplit(webhook_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not _listens(parts.hostname or "", port):
        raise Unreachable(f"the shop does not answer at {parts.scheme}://{parts.netloc}: start it first")


@contextmanager
def _service(chosen: argparse.Namespace, scenario: Scenario) -> Iterator[ScenarioService]:
    """Yield the sandbox at the address, or a new one for the scenario."""
    if chosen.port and _listens(chosen.host, chosen.port):
        yield ScenarioService(f"http://{chosen.host}:{chosen.port}", chosen.project_id, chosen.secret_key)
        return
    project = SandboxProject(
        project_id=chosen.project_id, secret_key=chosen.secret_key, webhook_url=chosen.webhook_url
    )
    profile = scenario.profile or chosen.profile
    with (
        Sandbox([project], profile=profile) as sandbox,
        SandboxServer(sandbox, chosen.host, chosen.port) as server,
    ):
        yield ScenarioService(server.url, chosen.project_id, chosen.secret_key)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True
