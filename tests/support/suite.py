"""The runs of the suite, the databases on servers side by side, and the summary at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree as ET

from tests.support import services
from tests.support.scale import EVERYDAY, GUARANTEES, NEVER_EVERYDAY, RUN, SCHEMATHESIS
from tests.support.services import Server

ROOT = Path(__file__).resolve().parents[2]
# Beyond four processes the machine's other work suffers more than the run gains.
PROCESSES = min(os.cpu_count() or 1, 4)
TESTS_FAILED, NOTHING_COLLECTED = 1, 5
WITHOUT_BROWSER = ("-p", "no:playwright", "-m", "not browser")
WITHOUT_SANDBOX = (f"--ignore={SCHEMATHESIS[0]}",)
"""For runs on servers, which have no test of this folder."""
WITHOUT_SCHEMATHESIS = ("-p", "no:schemathesis", *(f"--ignore={place}" for place in SCHEMATHESIS))
SERVERS = {
    "postgres": (services.POSTGRES, services.postgres),
    "mariadb": (services.MARIADB, services.mariadb),
}
BROKERS = {services.REDIS: services.redis, services.RABBITMQ: services.rabbitmq}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One pytest run to be made."""

    name: str
    environment: dict[str, str]
    arguments: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pytest run: its name, its exit code, and its counts in words."""

    name: str
    code: int
    counts: str


def run(databases: Sequence[str], arguments: Sequence[str], *, browser: bool = False, part: str = "") -> int:
    """Run pytest on the chosen databases, print the summary and return the exit code; `part` is a run of `scale`.

    The tests that need a browser run by themselves: its driver leaves an event loop running, in which others would fail.
    The everyday run is SQLite, without the stress and without tests that take long, and with a sample of long tables; then
    the guarantees on PostgreSQL.
    """
    everyday = part == EVERYDAY
    if browser:
        databases = ["sqlite"]
    elif everyday:
        databases = [each for each in databases if each != "mariadb"] or databases
    # So that the servers below are stopped when the run is.
    signal.signal(signal.SIGTERM, _end)
    with ExitStack() as stack:
        brokers = {variable: stack.enter_context(give()) for variable, give in BROKERS.items()}
        environment = {**_compiling(), **{variable: each.url or "" for variable, each in brokers.items()}}
        left_out = [broker for broker in brokers.values() if not broker.url]
        environment[RUN] = part
        chosen = [*_chosen(browser=browser, everyday=everyday), *arguments]
        runs = []
        if "sqlite" in databases:
            runs += _steady([_job("SQLite", environment, chosen, CHECKOUT_TEST_DATABASE="sqlite")])
        jobs = []
        for database, (variable, give) in SERVERS.items():
            if database not in databases:
                continue
            server = stack.enter_context(give())
            if server.url:
                where = {"CHECKOUT_TEST_DATABASE": database, variable: server.url}
                only = ["--only-database", *WITHOUT_SANDBOX, *chosen, *(GUARANTEES if everyday else ())]
                jobs.append(_job(f"{server.name}, {server.origin}", environment, only, **where))
            else:
                left_out.append(server)
        runs += _steady(jobs)
        return _summary(runs, list(brokers.values()), left_out, browser=browser, everyday=everyday)


def _chosen(*, browser: bool, everyday: bool) -> list[str]:
    if browser:
        return [*WITHOUT_SCHEMATHESIS, "-m", "browser"]
    if everyday:
        return [
            *WITHOUT_BROWSER,
            "-p",
            "no:schemathesis",
            "-m",
            "not browser and not slow",
            *(f"--ignore={place}" for place in NEVER_EVERYDAY),
        ]
    return list(WITHOUT_BROWSER)


def _compiling() -> dict[str, str]:
    """Return this process's environment, with compiled modules stored: without, each start of a Python takes seconds."""
    compiled = {"PYTHONPYCACHEPREFIX": str(ROOT / "build" / "bytecode"), **os.environ}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    return compiled


def _job(name: str, environment: dict[str, str], arguments: Sequence[str], **variables: str) -> Job:
    return Job(name=name, environment=environment | variables, arguments=arguments)


def _steady(jobs: Sequence[Job]) -> list[Run]:
    """Run the jobs; on CI, run the tests that failed once more, alone: a busy machine can be late.

    What passes then is named as unsteady, for somebody to look at. What fails twice is a failure.
    """
    runs = _run(jobs)
    return [_once_more(*each) if "CI" in os.environ else each[1] for each in zip(jobs, runs, strict=True)]


def _once_more(job: Job, done: Run) -> Run:
    if done.code != TESTS_FAILED:
        return done
    print(f"\nUNSTEADY, {job.name}: once more, and alone, what failed above.")
    failed = ("--last-failed", "--last-failed-no-failures=none", "-n", "0")
    [again] = _run([replace(job, arguments=[*job.arguments, *failed])])
    return (
        replace(done, code=0, counts=f"{done.counts}; UNSTEADY: {again.counts}") if not again.code else done
    )


def _run(jobs: Sequence[Job]) -> list[Run]:
    """Run the jobs at the same time: a run on a server waits for it often, and leaves the processor to the others.

    The output of one job is shown as it comes, that of several as each has ended.
    """
    with tempfile.TemporaryDirectory(prefix="checkout-reports-") as folder, ExitStack() as stack:
        if jobs:
            print("==", ", side by side with ".join(job.name for job in jobs), "==", flush=True)
        started = []
        for number, job in enumerate(jobs):
            report, output = Path(folder, f"{number}.xml"), Path(folder, f"{number}.txt")
            to = stack.enter_context(output.open("wb")) if len(jobs) > 1 else None
            options = ["-n", str(PROCESSES), "--dist", "worksteal", "-q", f"--junit-xml={report}"]
            # What has failed is remembered for each database by itself.
            options += ["-o", f"cache_dir=.pytest_cache/{job.name.partition(',')[0]}"]
            command = [sys.executable, "-m", "pytest", *options, *job.arguments]
            process = subprocess.Popen(command, cwd=ROOT, env=job.environment, stdout=to, stderr=to)
            stack.callback(process.terminate)
            started.append((job, process, report, output))
        runs = []
        for job, process, report, output in started:
            code = process.wait()
            if output.exists():
                print(
                    f"== {job.name} ==",
                    output.read_text(encoding="utf-8", errors="replace"),
                    sep="\n",
                    flush=True,
                )
            runs.append(Run(name=job.name, code=code, counts=_counts(report)))
        return runs


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
    runs: Sequence[Run],
    brokers: Sequence[Server],
    left_out: Sequence[Server],
    *,
    browser: bool = False,
    everyday: bool = False,
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
    if everyday:
        print("separate every other test, on every database: python3 -m tests --rest")
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
