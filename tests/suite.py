"""The runs of the suite, one database after the other, and the summary at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree as ET

from tests import services
from tests.services import Server

ROOT = Path(__file__).resolve().parent.parent
# Beyond four processes the machine's other work suffers more than the run gains.
PROCESSES = min(os.cpu_count() or 1, 4)
NOTHING_COLLECTED = 5
SERVERS = {
    "postgres": (services.POSTGRES, services.postgres),
    "mariadb": (services.MARIADB, services.mariadb),
}
BROKERS = {services.REDIS: services.redis, services.RABBITMQ: services.rabbitmq}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pytest run: what it ran on, how it ended, and its counts in words."""

    name: str
    code: int
    counts: str


def run(databases: Sequence[str], arguments: Sequence[str], *, browser: bool = False) -> int:
    """Run pytest on the chosen databases, print the summary and return the exit code.

    The tests that need a browser run by themselves: its driver leaves an event loop running, in which others would fail.
    """
    if browser:
        databases, arguments = ["sqlite"], ["-m", "browser", *arguments]
    else:
        arguments = ["-m", "not browser", *arguments]
    # So that the servers below are stopped when the run is.
    signal.signal(signal.SIGTERM, _end)
    with ExitStack() as stack:
        brokers = {variable: stack.enter_context(give()) for variable, give in BROKERS.items()}
        environment = {**os.environ, **{variable: each.url or "" for variable, each in brokers.items()}}
        runs = []
        left_out = [broker for broker in brokers.values() if not broker.url]
        if "sqlite" in databases:
            runs.append(_pytest("SQLite", {**environment, "CHECKOUT_TEST_DATABASE": "sqlite"}, arguments))
        for database, (variable, give) in SERVERS.items():
            if database not in databases:
                continue
            server = stack.enter_context(give())
            if server.url:
                chosen = {"CHECKOUT_TEST_DATABASE": database, variable: server.url}
                only = ["--only-database", *arguments]
                runs.append(_pytest(f"{server.name}, {server.origin}", environment | chosen, only))
            else:
                left_out.append(server)
        return _summary(runs, list(brokers.values()), left_out, browser=browser)


def _pytest(name: str, environment: dict[str, str], arguments: Sequence[str]) -> Run:
    print(f"== {name} ==", flush=True)
    with tempfile.TemporaryDirectory(prefix="checkout-report-") as folder:
        report = Path(folder) / "report.xml"
        options = ["-n", str(PROCESSES), "--dist", "worksteal", "-q", f"--junit-xml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *arguments]
        code = subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode
        return Run(name=name, code=code, counts=_counts(report))


def _counts(report: Path) -> str:
    """Return how many tests passed, failed and were skipped, from pytest's own report."""
    if not report.exists():
        return "ended without a report"
    suite = ET.parse(report).getroot().find("testsuite")
    if suite is None:
        return "ended without a report"
    found = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    passed = found["tests"] - found["failures"] - found["errors"] - found["skipped"]
    rest = [f"{found[name]} {name}" for name in ("failures", "errors", "skipped") if found[name]]
    return ", ".join([f"{passed} passed", *rest]) + f" in {float(suite.get('time', '0')):.0f} s"


def _summary(
    runs: Sequence[Run], brokers: Sequence[Server], left_out: Sequence[Server], *, browser: bool = False
) -> int:
    print("\n== Summary ==")
    for done in runs:
        print(f"{_word(done.code):8} {done.name}: {done.counts}")
    for broker in brokers:
        if broker.url:
            print(f"with     {broker.name}, {broker.origin}")
    for server in left_out:
        print(f"LEFT OUT {server.name}: {server.origin}")
    if services.chromium() is None:
        print("LEFT OUT browser tests: no Chromium found")
    elif not browser:
        print("separate browser tests: python3 -m tests --browser")
    code = _exit_code(runs, left_out)
    print("What was run passed." if code == 0 else "FAILED.", flush=True)
    return code


def _word(code: int) -> str:
    return {0: "passed", NOTHING_COLLECTED: "nothing"}.get(code, "FAILED")


def _exit_code(runs: Sequence[Run], left_out: Sequence[Server]) -> int:
    """Return 0 when each run passed; a run without tests passes as long as another had some."""
    failed = [done.code for done in runs if done.code not in {0, NOTHING_COLLECTED}]
    if failed:
        return failed[0]
    if left_out and services.required():
        return 1
    return 0 if any(done.code == 0 for done in runs) else NOTHING_COLLECTED


def _end(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(143)
