"""The processes that are measured, and the services that they read; each ends with the block that started it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu import children

ROOT = Path(__file__).resolve().parent.parent
WORKERS, THREADS = 2, 4
SETTINGS, DATABASE, RUNNER, STUB, LIST = (
    "DJANGO_SETTINGS_MODULE",
    "BENCHMARKS_DATABASE",
    "BENCHMARKS_RUNNER",
    "BENCHMARKS_STUB",
    "BENCHMARKS_LIST",
)


@dataclass(frozen=True, kw_only=True)
class Server:
    """A web server that listens on a port of this machine."""

    process: subprocess.Popen[bytes]
    port: int

    def workers(self) -> list[int]:
        """Return its processes that answer; wait until they are there."""
        ends_at = time.monotonic() + 30
        while len(workers := children(self.process.pid)) < WORKERS:
            if time.monotonic() > ends_at or self.process.poll() is not None:
                raise RuntimeError("gunicorn has not started its workers; see what it printed above")
            time.sleep(0.05)
        return workers


@contextmanager
def gunicorn(runner: str) -> Iterator[Server]:
    """Serve the benchmarks' site; `runner` says who applies notifications and runs receivers."""
    options = {
        "--workers": WORKERS,
        "--worker-class": "gthread",
        "--threads": THREADS,
        "--keep-alive": 60,
        "--log-level": "warning",
    }
    words = [str(word) for option in options.items() for word in option]
    command = ["gunicorn", "--no-control-socket", *words, "django.core.wsgi:get_wsgi_application()"]
    with _listening() as listener:
        bound = [*command, "--bind", f"fd://{listener.fileno()}"]
        with _running(bound, {RUNNER: runner}, listener.fileno()) as process:
            yield Server(process=process, port=listener.getsockname()[1])


@contextmanager
def serving(module: str) -> Iterator[str]:
    """Run one of the two services that are read, `benchmarks.stub` or `benchmarks.service`; give its address."""
    with _listening() as listener:
        number = listener.fileno()
        with _running([module, str(number)], {}, number):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def figures_of(module: list[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Run a module to its end, and return the figures that it prints."""
    command = [sys.executable, "-m", *module]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=False
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(module)} failed; see what it printed above")
    figures: dict[str, float] = json.loads(ended.stdout)
    return figures


@contextmanager
def worker(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker of ours; the block begins when it says its first word, which it does when it begins to work."""
    with _running(command, {RUNNER: "worker"}, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        if not process.stderr.readline():
            raise RuntimeError(f"{' '.join(command)} ended at once")
        yield process
        process.terminate()
        process.communicate(timeout=60)


@contextmanager
def _running(
    module: list[str], environment: Mapping[str, str], *inherited: int, stderr: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        env={**os.environ, **environment},
        pass_fds=inherited,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _listening() -> Iterator[socket.socket]:
    """Listen before the server runs, so that a request waits until it is up."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        listener.set_inheritable(True)
        yield listener
