"""The sandbox as a process of its own: its options, and serving until it is stopped."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from checkout_integration.protocol.vocabulary import VatPayer, WebhookMode
from checkout_integration.sandbox.catalogue import Product, read_catalogue
from checkout_integration.sandbox.json_text import read_json
from checkout_integration.sandbox.project import SandboxProject
from checkout_integration.sandbox.sandbox import Sandbox
from checkout_integration.sandbox.server import SandboxServer

_EXAMPLE_SECRET: Final = "sandbox_secret_key"


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m checkout_integration.sandbox",
        description="Run a stand-in for the hosted checkout service. Every option can be given as SANDBOX_<OPTION>.",
        epilog="With run as the first word it plays scenarios to a shop's receiver: see run --help.",
    )

    def option(name: str, default: str, text: str, **more: object) -> None:
        variable = "SANDBOX_" + name.strip("-").replace("-", "_").upper()
        kept = environment.get(variable, default)
        parser.add_argument(name, default=kept, help=text, **more)  # type: ignore[arg-type]

    option("--host", "127.0.0.1", "address to listen on")
    option("--port", "8090", "port to listen on; 0 picks a free one", type=int)
    option("--public-url", "", "address that buyers see, when it is not the one listened on")
    option(
        "--state",
        "",
        "SQLite file that keeps orders and changed settings over restarts; none keeps them in memory",
    )
    option("--profile", "field", "behaviour", choices=["field", "spec"])
    option("--project-id", "sandbox-project", "identifier of the project")
    option("--secret-key", _EXAMPLE_SECRET, "its secret; must begin with sandbox_")
    option("--webhook-url", "", "where notifications go; none sends none")
    option("--mode", WebhookMode.DEFAULT, "webhook mode", choices=list(WebhookMode))
    option("--projects", "", "JSON file with an array of projects, named as SandboxProject's settings")
    option("--success-url", "", "where the form leads after success")
    option("--fail-url", "", "where the form leads after failure")
    option("--vat-payer", VatPayer.NOBODY, "who pays VAT", choices=list(VatPayer))
    option("--catalogue", "", "JSON file of the products for sale; none sells whatever is asked for")
    option("--title", "Sandbox Games", "the seller's name on the form")
    parser.add_argument("--ask-billing-address", action="store_true", help="the form asks for the country")
    parser.add_argument("--live", action="store_true", help="pretend that payments are live")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; returns the exit code."""
    parser = _parser(os.environ)
    chosen = parser.parse_args(arguments)
    try:
        projects = _read_projects(chosen.projects) if chosen.projects else [_project_of(chosen)]
    except (ValueError, TypeError, OSError) as error:
        parser.error(str(error))
    sandbox = Sandbox(projects, state=chosen.state or None, profile=chosen.profile)
    with SandboxServer(sandbox, chosen.host, chosen.port, public_url=chosen.public_url or None) as server:
        # WHY first: whoever reads the addresses may send the signal at once.
        ended = _end_by_signal()
        _print_addresses(server, projects)
        ended.wait()
    sandbox.close()
    return 0


def _project_of(chosen: argparse.Namespace) -> SandboxProject:
    return SandboxProject(
        project_id=chosen.project_id,
        secret_key=chosen.secret_key,
        webhook_url=chosen.webhook_url,
        mode=chosen.mode,
        live=chosen.live,
        success_url=chosen.success_url,
        fail_url=chosen.fail_url,
        vat_payer=chosen.vat_payer,
        ask_billing_address=chosen.ask_billing_address,
        title=chosen.title,
        catalogue=_catalogue(chosen.catalogue),
    )


def _read_projects(path: str) -> list[SandboxProject]:
    """Read projects from a JSON array; `catalogue` in one of them is the path of its own JSON file."""
    entries = read_json(Path(path).read_bytes())
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        raise ValueError("a file of projects is a JSON array of objects")
    projects = [
        SandboxProject(**{**each, "catalogue": _catalogue(each.get("catalogue") or "")}) for each in entries
    ]
    if len({project.project_id for project in projects}) < len(projects):
        raise ValueError("two projects have the same project_id")
    return projects


def _catalogue(path: str) -> tuple[Product, ...] | None:
    return read_catalogue(Path(path).read_text("utf-8")) if path else None


def _print_addresses(server: SandboxServer, projects: Sequence[SandboxProject]) -> None:
    pairs = [
        ("service", server.url),
        ("form", f"{server.sandbox.public_url}/form"),
        ("script", f"{server.sandbox.public_url}/client.js"),
        ("operator", f"{server.url}/_sandbox/"),
    ]
    for project in projects:
        pairs += [("project", project.project_id), ("notifications", project.webhook_url or "none")]
    for name, text in pairs:
        print(f"{name + ':':<15}{text}", flush=True)


def _end_by_signal() -> threading.Event:
    """Return an event that an interrupt or a termination sets."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended
