"""The processes of the example: shop, service and worker, started and stopped together."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from example_project.progress import saying

ROOT = Path(__file__).resolve().parent.parent
READY_WITHIN = 60.0
STOPPED_WITHIN = 8.0


class ProcessDied(Exception):
    """A process ended by itself, or did not become ready; the text holds the end of its log."""


class FolderUnusable(Exception):
    """The folder cannot be written; the text says what to do."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where everything is, and how the service behaves. Shop and service have different host names, as in the world."""

    folder: Path
    shop_port: int
    service_port: int
    profile: str = "field"
    earlier_sales: bool = False

    @property
    def begins(self) -> bool:
        """Whether earlier sales are to be made: the folder has no shop and no service yet."""
        return (
            self.earlier_sales
            and not self.service_state.exists()
            and not (self.folder / "shop.sqlite3").exists()
        )

    @property
    def service_state(self) -> Path:
        """The file of the service's orders."""
        return self.folder / "service.sqlite3"

    @property
    def shop(self) -> str:
        """The shop's address."""
        return f"http://127.0.0.1:{self.shop_port}"

    @property
    def service(self) -> str:
        """The service's address."""
        return f"http://localhost:{self.service_port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that tell the settings where everything is."""
        return {
            "DJANGO_SETTINGS_MODULE": "example_project.settings",
            "EXAMPLE_FOLDER": str(self.folder),
            "EXAMPLE_SHOP": self.shop,
            "EXAMPLE_SERVICE": self.service,
        }


@dataclass(kw_only=True)
class Running:
    """What was started, by name."""

    places: Places
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        """Start a Python module in a session of its own, so that Ctrl-C reaches only this process, which stops the rest."""
        with self._log(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "DJANGO_RUNSERVER_HIDE_WARNING": "true"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_port(self, name: str, port: int) -> None:
        """Return when the process answers there. Raises ProcessDied when it ends before, or takes too long."""
        deadline = time.monotonic() + READY_WITHIN
        while not _answers(port):
            self.raise_if_one_died()
            if time.monotonic() > deadline:
                raise ProcessDied(
                    f"The {name} did not answer within {READY_WITHIN:.0f} s.\n{self._end_of_log(name)}"
                )
            time.sleep(0.05)

    def raise_if_one_died(self) -> None:
        """Raise ProcessDied when one of the processes has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise ProcessDied(
                    f"The {name} ended with code {process.returncode}.\n{self._end_of_log(name)}"
                )

    def stop(self) -> None:
        """Ask every process to end, and make those end that do not."""
        for process in self.processes.values():
            process.terminate()
        deadline = time.monotonic() + STOPPED_WITHIN
        for process in self.processes.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                _kill(process)

    def _log(self, name: str) -> Path:
        return self.places.folder / f"{name}.log"

    def _end_of_log(self, name: str) -> str:
        lines = self._log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(["Its last words:", *lines[-15:]])


@contextmanager
def running(places: Places) -> Iterator[Running]:
    """Start everything, yield when shop and service answer, stop everything. Sets Django up in this process too.

    Raises FolderUnusable before anything is started, and ProcessDied.
    """
    _make(places.folder)
    os.environ.update(places.environment())
    # As the others have one: what the app says of staged sales would stand in the middle of what the start says.
    logging.basicConfig(filename=places.folder / "start.log", level=logging.WARNING)
    started, begins = Running(places=places), places.begins
    try:
        webhook = f"{places.shop}/checkout/webhook/"
        where = (
            "--port",
            str(places.service_port),
            "--webhook-url",
            webhook,
            "--state",
            str(places.service_state),
        )
        earlier = ["--earlier-sales"] if begins else []
        started.start("service", "example_project.service", *where, "--profile", places.profile, *earlier)
        with saying("Making the shop's database"):
            _prepare_database(earlier_sales=begins)
        started.start(
            "shop", "example_project.manage", "runserver", "--noreload", f"127.0.0.1:{places.shop_port}"
        )
        with saying(
            "Starting the service, with the orders of three months" if begins else "Starting the service"
        ):
            started.await_port("service", places.service_port)
        if begins:
            with saying("Reading its transaction list"):
                _read_transaction_list()
        worker = ("--beat", "--pool", "solo", "--without-gossip", "--without-mingle", "--loglevel", "INFO")
        started.start("worker", "celery", "--app", "example_project.celery", "worker", *worker)
        with saying("Waiting for the shop"):
            started.await_port("shop", places.shop_port)
        yield started
    finally:
        started.stop()


def _make(folder: Path) -> None:
    try:
        (folder / "queue").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderUnusable(
            f"The folder {folder} cannot be made ({error.strerror}). Name another one with --folder."
        ) from None


def _prepare_database(*, earlier_sales: bool) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    from example_project.shop import demo, earlier

    call_command("migrate", verbosity=0, interactive=False)
    demo.fill()
    if earlier_sales:
        earlier.fill()


def _read_transaction_list() -> None:
    """Learn from the service what became of the earlier sales; a worker runs their receivers afterwards."""
    from checkout_integration import flows

    for lane in flows.sync.lanes_due("default"):
        flows.sync.sync_transactions(lane=lane)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children at once."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
