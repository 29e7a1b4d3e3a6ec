"""A merchant's project, made as docs/quickstart.md says: its blocks in its files, its commands in an environment of its own.

With `readme`, the README's lines stand where it shows them.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from example_project.environment import make
from tests.support.documents import ROOT, block, template

NOTES = """

from pathlib import Path
from django.dispatch import receiver
from checkout_integration.signals import payment_success

NOTES = Path(__file__).with_name("notes.txt")

@receiver(payment_success)
def note_payment(order, verdict, **kwargs):
    with NOTES.open("a") as notes:
        notes.write(f"payment_success {order.order_id} {verdict}\\n")

@receiver(checkout_paid)
def note_checkout(order, checkout, **kwargs):
    with NOTES.open("a") as notes:
        notes.write(f"checkout_paid {order.order_id}\\n")
"""
OTHER_SETTINGS = {
    "accepting": 'CHECKOUT_INTEGRATION["UNBOUND_ORDERS"] = "accept"\n',
    "atomic": 'DATABASES["default"]["ATOMIC_REQUESTS"] = True\n',
    "hooked": block("docs/validation.md", "# mysite/settings.py, with hooks"),
    "celery": block("docs/receivers.md", "# mysite/settings.py, with Celery"),
    "worker": 'CHECKOUT_INTEGRATION["RUNNER"] = "worker"\n',
    "two": (
        'eu = {"PROJECT_ID": "my-shop-eu", "SECRET_KEY": "sandbox_secret_of_eu"}\n'
        'CHECKOUT_INTEGRATION["PROJECTS"]["eu"] = eu\n'
    ),
    "periodic": 'CELERY_BEAT_SCHEDULE = {"invoices": {"task": "shop.invoices", "schedule": 86400}}\n',
}
"""What some tests change in the settings, by the name of the module ``mysite.with_<name>``."""


def exported() -> dict[str, str]:
    """Return the variables that the quick start sets for the sandbox."""
    text = block(
        "docs/quickstart.md",
        "$ export CHECKOUT_PROJECT_ID=my-shop CHECKOUT_SECRET_KEY=sandbox_secret_of_my_shop "
        "CHECKOUT_URL=http://127.0.0.1:8090",
    )
    words = [word for line in text.splitlines() for word in shlex.split(line.removeprefix("$ export "))]
    return dict(word.split("=", 1) for word in words)


PROJECT_ID = exported()["CHECKOUT_PROJECT_ID"]
SECRET = exported()["CHECKOUT_SECRET_KEY"]


def build_wheel(folder: Path) -> Path:
    """Build the product's wheel from the checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(folder: Path) -> Path:
    """Install the wheel as the README says, with what the pages need beside, in an environment of its own: its Python."""
    (requirement,) = shlex.split(block("README.md", '$ pip install "checkout-integration[sandbox]"'))[3:]
    with_more = requirement.replace("]", ",celery,postgres,testing]")
    return make(
        folder / "environment",
        [f"{with_more} @ {build_wheel(folder).as_uri()}", "responses", "requests-mock"],
    )


PLAYERS = """
from uuid import uuid4

from django.contrib.auth.models import AbstractUser
from django.db import models


class Player(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
"""
OF_PLAYERS = """
INSTALLED_APPS += ["players"]
AUTH_USER_MODEL = "players.Player"
"""


README_LINES = {
    "shop/buying.py": block("README.md", "# shop/buying.py"),
    "shop/receivers.py": block("README.md", "# shop/receivers.py"),
}


def files_of_the_shop() -> dict[str, str]:
    """Return the quick start's blocks by the files that they name, and those of other pages that its tests need."""
    return {
        "mysite/__init__.py": block("docs/receivers.md", "# mysite/__init__.py"),
        "mysite/urls.py": block("docs/quickstart.md", "# mysite/urls.py"),
        "mysite/celery.py": block("docs/receivers.md", "# mysite/celery.py"),
        "shop/models.py": block("docs/quickstart.md", "# shop/models.py"),
        "shop/buying.py": block("docs/quickstart.md", "# shop/buying.py"),
        "shop/views.py": block("docs/quickstart.md", "# shop/views.py"),
        "shop/receivers.py": block("docs/quickstart.md", "# shop/receivers.py"),
        "shop/apps.py": block("docs/quickstart.md", "# shop/apps.py"),
        "shop/hooks.py": block("docs/validation.md", "# shop/hooks.py"),
        "shop/templates/shop.html": template("docs/quickstart.md", "shop/templates/shop.html"),
    }


@dataclass(frozen=True, kw_only=True)
class BlankProject:
    """A merchant's project on disk, the Python that runs it, and the service that it uses."""

    folder: Path
    python: Path
    service: str

    @classmethod
    def start(
        cls, folder: Path, python: Path, service: str, *, uuids: bool = False, readme: bool = False
    ) -> BlankProject:
        """Make the project, and take its steps up to the tables.

        ``uuids``: accounts have UUIDs as keys. ``readme``: it sells and grants by the README's lines.
        """
        project = cls.write(folder, python, service, uuids=uuids, readme=readme)
        if uuids:
            project.manage("makemigrations", "players")
        # Each says what is wrong, if anything is: `steps` has it.
        with (folder / "steps.log").open("w") as file:
            for command in block("docs/quickstart.md", "$ python manage.py makemigrations shop").splitlines():
                file.write(project.follow(command))
        return project

    @classmethod
    def write(
        cls, folder: Path, python: Path, service: str, *, uuids: bool = False, readme: bool = False
    ) -> BlankProject:
        """Write the project's files, and run nothing of the product."""
        project = cls.begin(folder, python, service, OF_PLAYERS if uuids else "")
        if uuids:
            project.run("-m", "django", "startapp", "players")
            (folder / "players" / "models.py").write_text(PLAYERS)
        others = {
            f"mysite/with_{name}.py": f"from mysite.settings import *\n\n{text}"
            for name, text in OTHER_SETTINGS.items()
        }
        project.write_texts(files_of_the_shop() | others | (README_LINES if readme else {}))
        return project

    @classmethod
    def begin(cls, folder: Path, python: Path, service: str, before: str = "") -> BlankProject:
        """Make a project with an app and the quick start's settings. ``before``: what they have already."""
        project = cls(folder=folder, python=python, service=service)
        folder.mkdir()
        project.run("-m", "django", "startproject", "mysite", ".")
        project.run("-m", "django", "startapp", "shop")
        settings = folder / "mysite" / "settings.py"
        own = block("docs/quickstart.md", "# mysite/settings.py")
        settings.write_text(f"{settings.read_text()}\n{before}\n{own}")
        return project

    def write_texts(self, texts: Mapping[str, str]) -> None:
        """Write files by their names; Django's templates of an app are replaced."""
        for name, text in texts.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def take_notes(self) -> None:
        """Let receivers write down what they are called for."""
        with (self.folder / "shop" / "receivers.py").open("a", encoding="utf-8") as file:
            file.write(NOTES)

    @property
    def steps(self) -> str:
        """What its commands up to the tables printed."""
        return (self.folder / "steps.log").read_text()

    def follow(self, command: str, *more: str, settings: str = "", **variables: str) -> str:
        """Run a command of a page to its end; returns what it printed, complaints too."""
        words, environment = self._words(command, *more), self.environment(settings, variables)
        done = self._finish(words, environment)
        return done.stdout + done.stderr

    def refuse(self, command: str, **variables: str) -> str:
        """Run a command of a page that must fail; returns what it printed."""
        done = self._finish(self._words(command), self.environment("", variables), fails=True)
        return done.stdout + done.stderr

    def run(self, *arguments: str, settings: str = "", **variables: str) -> str:
        """Run the project's Python; returns what it printed."""
        return self._finish([str(self.python), *arguments], self.environment(settings, variables)).stdout

    def manage(self, *arguments: str, settings: str = "", **variables: str) -> str:
        """Run ``manage.py``."""
        return self.run("manage.py", *arguments, settings=settings, **variables)

    def notes(self) -> list[str]:
        """Return what the receivers noted so far."""
        file = self.folder / "shop" / "notes.txt"
        return file.read_text().splitlines() if file.exists() else []

    @contextmanager
    def running(self, command: str, *more: str, settings: str = "", **variables: str) -> Iterator[Path]:
        """Keep a command of a page running; gives the file that it writes to."""
        words = self._words(command, *more)
        environment = self.environment(settings, variables)
        log = self.folder / f"{words[-1].strip('-:.').replace('/', '-')}.log"
        with (
            log.open("wb") as file,
            subprocess.Popen(
                words, cwd=self.folder, env=environment, stdout=file, stderr=subprocess.STDOUT
            ) as process,
        ):
            try:
                yield log
                assert process.poll() is None, log.read_text()
            finally:
                process.terminate()

    @contextmanager
    def served(self, *, settings: str = "", **variables: str) -> Iterator[str]:
        """Serve the project; gives its address."""
        port = free_port()
        command = block("docs/quickstart.md", "$ python manage.py runserver")
        with self.running(command, "--noreload", f"127.0.0.1:{port}", settings=settings, **variables):
            await_answer(f"http://127.0.0.1:{port}/admin/login/")
            yield f"http://127.0.0.1:{port}"

    def _words(self, command: str, *more: str) -> list[str]:
        program, *words = shlex.split(command.removeprefix("$ "))
        start = [str(self.python)] if program == "python" else [str(self.python), "-m", program]
        return [*start, *words, *more]

    def environment(self, settings: str, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of the project's processes."""
        given = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DJANGO_SETTINGS_MODULE", "PYTHONPATH"}
        }
        if settings:
            given["DJANGO_SETTINGS_MODULE"] = f"mysite.with_{settings}"
        address = exported()["CHECKOUT_BASE_URL"]
        readme = {name: value.replace(address, self.service) for name, value in exported().items()}
        # What a process prints is read while it runs.
        unbuffered = {"PYTHONUNBUFFERED": "1"}
        return {**given, **readme, **unbuffered, "CELERY_BROKER_URL": "memory://", **variables}

    def _finish(
        self, words: list[str], environment: dict[str, str], *, fails: bool = False
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert bool(done.returncode) is fails, done.stdout + done.stderr
        return done


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_answer(address: str) -> None:
    """Wait until a server responds there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            requests.get(address, timeout=10)
        except (requests.ConnectionError, requests.Timeout):
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.1)
        else:
            return
