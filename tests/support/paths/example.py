"""The example shop, running in a throwaway folder for as long as a test needs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
START = """
import sys, pathlib
from example_project.demonstration import run
sys.exit(run(pathlib.Path(sys.argv[1]), int(sys.argv[2]), earlier_sales=sys.argv[3] == "True"))
"""


@dataclass(frozen=True, kw_only=True)
class Example:
    """Addresses of the running shop and its service, and what it said when it was up."""

    shop: str
    service: str
    welcome: str


def environment(**more: str) -> Mapping[str, str]:
    """Return the variables for a process of the example: not those that make Django load the tests' settings."""
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return {**inherited, **more}


@contextmanager
def running_example(*, earlier_sales: bool = False) -> Iterator[Example]:
    """Start the example as its command does, in the environment at hand, and stop it as Ctrl-C does."""
    from example_project.ports import free_pair

    port = free_pair()
    with (
        tempfile.TemporaryDirectory(prefix="checkout-example-") as folder,
        subprocess.Popen(
            [sys.executable, "-c", START, folder, str(port), str(earlier_sales)],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            yield Example(
                shop=f"http://127.0.0.1:{port}",
                service=f"http://localhost:{port + 1}",
                welcome=_welcome_of(process),
            )
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _welcome_of(process: subprocess.Popen[str]) -> str:
    """Return what it says when it is up. Raises AssertionError when it ends instead."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise AssertionError("the example ended before it was up: " + "".join(lines))
