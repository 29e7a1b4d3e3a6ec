"""The processes of the trial: started, killed, and started again by a watchman, as a service manager would."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.stress.chaos.places import ROOT


class Part:
    """One process that is to run; `command` starts it, whatever ended it before."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.should_run = False
        self._command = command
        self._environment = environment
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process, 0 when it does not run."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else 0

    def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches us alone."""
        self.should_run = True
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End it with all its children, and do not start it again."""
        self.should_run = False
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def children(self) -> list[int]:
        """Return the processes that it has started."""
        return children_of(self.pid) if self.pid else []

    def last_words(self, count: int = 15) -> str:
        """Return the end of its log."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-count:])


class Watchman:
    """Starts again whatever has ended, and counts how often."""

    def __init__(self) -> None:
        self.restarted: Counter[str] = Counter()
        self._parts: list[Part] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchman", daemon=True)

    def watch(self, parts: list[Part]) -> None:
        """Watch these parts too."""
        self._parts += parts

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            for part in self._parts:
                if part.should_run and not part.pid:
                    self.restarted[part.name] += 1
                    part.start()


def kill(pid: int) -> bool:
    """Kill a process on the spot; False when it has gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def children_of(parent: int) -> list[int]:
    """Return the living children of a process (Linux)."""
    return [pid for pid, (of, state) in _processes() if of == parent and state != "Z"]


def await_true(what: str, holds: Callable[[], bool], seconds: float) -> None:
    """Return when `holds` is true. Raises TimeoutError, naming `what`, when it is not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)


def _processes() -> Iterator[tuple[int, tuple[int, str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has just ended
                # The name, in brackets, may contain anything.
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                yield int(folder.name), (int(parent), state)
