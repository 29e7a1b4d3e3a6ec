"""The sandbox as a process of its own: its options, and serving until a signal."""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from checkout_integration.protocol.vocabulary import VatPayer, WebhookMode
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.project_files import catalogue_at, read_projects
from checkout_integration.sandbox.sandbox import Sandbox
from checkout_integration.sandbox.server.options import EXAMPLE_SECRET, PROFILES, Options, port, web_address
from checkout_integration.sandbox.server.server import SandboxServer

FIRST_SETTINGS: Final = """\
# settings.py: the sandbox takes the place of the service. In production set the variables to what the service gives you.
import os

INSTALLED_APPS += ["checkout_integration"]
CHECKOUT_INTEGRATION = {
    "PROJECTS": {
        "default": {"PROJECT_ID": os.environ["CHECKOUT_PROJECT_ID"], "SECRET_KEY": os.environ["CHECKOUT_SECRET_KEY"]},
    },
    "BASE_URL": os.environ["CHECKOUT_BASE_URL"],
    "CHECKOUT_URL": os.environ["CHECKOUT_URL"],
    "ORDER_FORM_URL": os.environ["CHECKOUT_FORM_URL"],
    "ACCEPT_TEST_PAYMENTS": DEBUG,
    "ALLOW_HTTP_LOOPBACK": DEBUG,
    "DYNAMIC_URLS": DEBUG,
}

# each terminal
export CHECKOUT_PROJECT_ID=my-shop CHECKOUT_SECRET_KEY=sandbox_secret_of_my_shop CHECKOUT_URL=http://127.0.0.1:8090
export CHECKOUT_BASE_URL=http://127.0.0.1:8090 CHECKOUT_FORM_URL=http://127.0.0.1:8090/form

# urls.py
path("checkout/", include("checkout_integration.urls")),
"""
"""What ``init`` prints: the settings of docs/quickstart.md, for a project that has none yet."""


_SETTINGS: Final = (
    "project_id secret_key webhook_url mode live success_url fail_url vat_payer ask_billing_address title"
).split()
"""The options that are settings of the project, under the same names."""


def parser_for(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of the sandbox as a process."""
    parser = argparse.ArgumentParser(
        prog="python -m checkout_integration.sandbox",
        description="Run a stand-in for the hosted checkout service. Every option can be given as SANDBOX_<OPTION>.",
        epilog="With play as the first word it plays stories to a shop's receiver, with do it does one thing at a sandbox"
        " that runs: see play --help and do --help.",
    )

    options = Options(parser, environment)
    options.add("--host", "127.0.0.1", "address to listen on")
    options.add("--port", "8090", "port to listen on; 0 picks a free one", read=port)
    options.add(
        "--public-url", "", "address that customers see, when it is not the one listened on", read=web_address
    )
    options.add(
        "--allowed-hosts",
        "",
        "further host names to answer to, with commas; requests that name another host are refused",
    )
    options.add(
        "--state",
        "",
        "SQLite file that stores orders and changed settings over restarts; none stores them in memory",
    )
    options.add("--profile", "field", "behaviour", choices=PROFILES)
    options.add("--project-id", "sandbox-project", "identifier of the project")
    options.add("--secret-key", EXAMPLE_SECRET, "its secret; must begin with sandbox_")
    options.add("--webhook-url", "", "where notifications go; none sends none")
    options.add("--mode", WebhookMode.DEFAULT, "webhook mode", choices=WebhookMode)
    options.add("--projects", "", "JSON file with an array of projects, named as SandboxProject's settings")
    options.add("--success-url", "", "where the form leads after success")
    options.add("--fail-url", "", "where the form leads after failure")
    options.add("--vat-payer", VatPayer.NOBODY, "who pays VAT", choices=VatPayer)
    options.add("--catalogue", "", "JSON file of the products for sale; none sells any product")
    options.add("--title", "Sandbox Games", "the seller's name on the form")
    options.flag("--ask-billing-address", "the form asks for the country")
    options.flag("--live", "pretend that payments are live")
    options.flag("--quiet", "print no line for each exchange with the shop")
    return parser


def main(arguments: Sequence[str] | None = None, others: Sequence[SandboxProject] = ()) -> int:
    """Serve until interrupted; returns the exit code. ``others`` are served beside the project of the options, as it is."""
    parser = parser_for(os.environ)
    chosen = parser.parse_args(arguments)
    try:
        _serve(chosen, others)
    except sqlite3.Error as error:
        parser.error(
            f"--state {chosen.state} cannot be used ({error}): name a sandbox's own file, or a new one in a folder"
        )
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


def _serve(chosen: argparse.Namespace, others: Sequence[SandboxProject]) -> None:
    projects = projects_of(chosen, others)
    with (
        Sandbox(projects, state=chosen.state or None, profile=chosen.profile) as sandbox,
        SandboxServer(
            sandbox,
            chosen.host,
            chosen.port,
            public_url=chosen.public_url or None,
            allowed_hosts=chosen.allowed_hosts.replace(",", " ").split(),
        ) as server,
    ):
        # First, since the signal may come as soon as the addresses are printed.
        ended = _end_by_signal()
        _print_addresses(server, projects)
        if not chosen.quiet:
            # One text: of two threads that print a line and its end, one may come between.
            sandbox.log.subscribe(lambda exchange: print(f"{exchange.line}\n", end="", flush=True))
        ended.wait()


def projects_of(chosen: argparse.Namespace, others: Sequence[SandboxProject]) -> Sequence[SandboxProject]:
    """Return the projects to serve: those of the file, or one by the options, with the others like it."""
    if chosen.projects:
        return read_projects(chosen.projects)
    own = _project_of(chosen)
    beside = [
        replace(own, project_id=each.project_id, secret_key=each.secret_key, webhook_url=each.webhook_url)
        for each in others
    ]
    return [own, *beside]


def _project_of(chosen: argparse.Namespace) -> SandboxProject:
    settings = {name: getattr(chosen, name) for name in _SETTINGS}
    return SandboxProject(**settings, catalogue=catalogue_at(chosen.catalogue))


def _print_addresses(server: SandboxServer, projects: Sequence[SandboxProject]) -> None:
    pairs = [
        ("service", server.url),
        ("form", f"{server.sandbox.public_url}/form"),
        ("script", f"{server.sandbox.public_url}/client.js"),
        ("operator", f"{server.url}/_sandbox/"),
    ]
    for project in projects:
        pairs += [("project", project.project_id), ("notifications", project.webhook_url or "none")]
    if not server.sandbox.profile.attempt_is_created_at:
        # WHK-05: all attempts of a notification have the time of the event.
        pairs.append(
            ("shop", "set RETRY_INTERVAL to 0: this profile does not rewrite created_at at each attempt")
        )
    for name, text in pairs:
        print(f"{name + ':':<15}{text}", flush=True)


def _end_by_signal() -> threading.Event:
    """Return an event that an interrupt or a termination sets."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended
