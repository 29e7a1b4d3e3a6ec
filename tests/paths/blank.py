"""A project of `django-admin startproject`, changed by the README's five steps; the built wheel in a fresh environment."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from example_project.environment import make

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sandbox_secret_of_the_blank_project"
PROJECT_ID = "blank-project"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LOADS_RECEIVERS = """
from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self):
        import shop.receivers
"""
ACCEPTING = """
from blank.settings import *

CHECKOUT_INTEGRATION = {**CHECKOUT_INTEGRATION, "UNBOUND_ORDERS": "accept"}
"""
NOTES = """

from pathlib import Path
from checkout_integration.signals import payment_success

NOTES = Path(__file__).with_name("notes.txt")

@receiver(payment_success)
def note_payment(order, verdict, **kwargs):
    with NOTES.open("a") as notes:
        notes.write(f"payment_success {order.order_id} {verdict}\\n")

@receiver(checkout_paid)
def note_sale(order, checkout, **kwargs):
    with NOTES.open("a") as notes:
        notes.write(f"checkout_paid {order.order_id}\\n")
"""


def build_wheel(folder: Path) -> Path:
    """Build the product's wheel from the checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def readme_blocks() -> list[str]:
    """Return the Python of the README's steps, in order: apps, settings, addresses, receivers, selling."""
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Use it\n")[2].partition("\n## ")[0]
    )

    return [
        "\n".join(line.removeprefix("   ") for line in block.splitlines()) + "\n"
        for block in BLOCK.findall(section)
    ]


@dataclass(frozen=True, kw_only=True)
class BlankProject:
    """A merchant's project on disk."""

    folder: Path
    python: Path

    @classmethod
    def start(cls, folder: Path, wheel: Path, service: str) -> BlankProject:
        """Take the README's five steps; its three dots become the addresses of `service`."""
        project = cls(folder=folder / "blank", python=make(folder / "environment", [str(wheel)]))
        project.folder.mkdir()
        project.run("-m", "django", "startproject", "blank", ".")
        project.manage("startapp", "shop")
        apps, settings, addresses, receivers, _ = readme_blocks()
        settings = settings.replace('"PROJECT_ID": "..."', f'"PROJECT_ID": "{PROJECT_ID}"')
        settings = settings.replace('"ORDER_FORM_URL": "https://..."', f'"ORDER_FORM_URL": "{service}/form"')
        settings = settings.replace("https://...", service)
        project.append("blank/settings.py", f'{apps}INSTALLED_APPS += ["shop"]\n{settings}')
        project.append("blank/urls.py", addresses)
        project.append("shop/receivers.py", receivers + NOTES)
        (project.folder / "shop" / "apps.py").write_text(LOADS_RECEIVERS)
        project.append("blank/accepting.py", ACCEPTING)
        project.manage("migrate", "--verbosity", "0")
        return project

    def append(self, name: str, text: str) -> None:
        """Add text to the end of a file."""
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}")

    def run(self, *arguments: str, **variables: str) -> str:
        """Run the project's Python; returns what it printed."""
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=self.folder,
            env=_environment(**variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run ``manage.py``."""
        return self.run("manage.py", *arguments, **variables)

    def notes(self) -> list[str]:
        """Return what the receivers noted so far."""
        file = self.folder / "shop" / "notes.txt"
        return file.read_text().splitlines() if file.exists() else []

    @contextmanager
    def served(self, **variables: str) -> Iterator[str]:
        """Serve the project, and nothing else; gives its address."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [str(self.python), "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]
        with (
            (self.folder / "server.log").open("ab") as log,
            subprocess.Popen(
                command, cwd=self.folder, env=_environment(**variables), stdout=log, stderr=log
            ) as process,
        ):
            try:
                _await_answer(f"http://127.0.0.1:{port}/admin/login/")
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _environment(**variables: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DJANGO_SETTINGS_MODULE", "PYTHONPATH"}
    }
    return {**kept, "CHECKOUT_SECRET_KEY": SECRET, **variables}


def _await_answer(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            requests.get(address, timeout=10)
        except requests.ConnectionError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.1)
        else:
            return
