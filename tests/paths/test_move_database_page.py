"""docs/move-database.md: a shop with sales moves from SQLite to PostgreSQL by the page's commands, and sells on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import PROJECT_ID, SECRET, BlankProject
from tests.support.paths.new_database import PASSWORD, new_database

TWO = block("docs/move-database.md", "# mysite/settings.py, both databases")
MIGRATE = block("docs/move-database.md", "$ python manage.py migrate --database new")
COPY = block(
    "docs/move-database.md",
    "$ python manage.py dumpdata --natural-foreign --exclude contenttypes "
    "--exclude auth.permission --output rows.json.gz",
)
COMPARE = block("docs/move-database.md", "$ python manage.py check --database default")
SELL = """
from decimal import Decimal
from django.contrib.auth import get_user_model
from checkout_integration import flows
from shop.models import Basket
robin, _ = get_user_model().objects.get_or_create(username="robin")
basket = Basket.objects.create(buyer=robin)
print(flows.create_checkout(amount=Decimal("9.99"), currency="USD", subject=basket, user=robin).order_id)
"""
ROWS = """
import json
from django.apps import apps
from django.core import serializers
left_out = {"contenttypes.contenttype", "auth.permission", "sessions.session"}
found = {
    model._meta.label_lower: json.loads(serializers.serialize("json", model._base_manager.order_by("pk")))
    for model in apps.get_models()
    if model._meta.label_lower not in left_out
}
print(json.dumps(found))
"""


def meaning(value: object) -> object:
    """Return what a column says: PostgreSQL keeps the members of a document in an order of its own."""
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


class Shop:
    """The shop of the README, on either database."""

    def __init__(self, project: BlankProject, variables: dict[str, str]) -> None:
        """Take the project, and the variables of its processes."""
        self.project, self.variables = project, variables

    def rows(self, settings: str) -> dict[str, list[dict[str, Any]]]:
        """Return every row of every table."""
        printed = self.project.manage("shell", "-c", ROWS, settings=settings, **self.variables)
        return dict(json.loads(printed[printed.index("{") :]))

    def sell(self, settings: str) -> str:
        """Sell a basket; gives the order's id."""
        return self.project.manage("shell", "-c", SELL, settings=settings, **self.variables).split()[-1]

    def follow(self, commands: str, settings: str) -> None:
        """Run each line of a block."""
        for command in commands.splitlines():
            self.project.follow(command, settings=settings, **self.variables)

    def catch_up(self, settings: str) -> None:
        """Learn from the list, and run what is due."""
        self.project.manage("checkout_sync", "--lane", "all", settings=settings, **self.variables)
        self.project.manage("checkout_work", "--once", settings=settings, **self.variables)


@pytest.fixture
def service() -> Iterator[tuple[Sandbox, str]]:
    """Run the service, which notifies nobody; with its address."""
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        yield sandbox, server.url


@pytest.mark.slow
@pytest.mark.postgres
def test_a_shop_moves_to_postgresql(service: tuple[Sandbox, str], tmp_path: Path) -> None:
    """Every row is there afterwards, nothing runs twice, what waited runs, and new rows have new keys."""
    sandbox, address = service
    project = BlankProject.write(tmp_path / "project", Path(sys.executable), address)
    project.take_notes()
    with new_database() as place:
        variables = {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{project.folder}",
            "DATABASE_NAME": place["NAME"],
            "DATABASE_USER": place["USER"],
            "DATABASE_PASSWORD": PASSWORD,
            "DATABASE_HOST": place["DATABASE_HOST"],
            "DATABASE_PORT": place["DATABASE_PORT"],
        }
        begin = f'from mysite.settings import *\n\nCHECKOUT_INTEGRATION["RUNNER"] = "worker"\n{TWO}\n'
        for name, text in {
            "old": begin,
            "moved": begin + 'DATABASES["default"] = DATABASES.pop("new")\n',
        }.items():
            (project.folder / "mysite" / f"with_{name}.py").write_text(text)
        shop = Shop(project, variables)
        project.run("manage.py", "makemigrations", "shop", **variables)
        project.manage("migrate", settings="old", **variables)

        paid, refunded = shop.sell("old"), shop.sell("old")
        for order_id in (paid, refunded):
            sandbox.payments.pay(order_id)
        shop.catch_up("old")
        sandbox.payments.refund(refunded)
        project.manage("checkout_sync", "--lane", "all", settings="old", **variables)  # its receivers wait
        before, notes = shop.rows("old"), len(project.notes())

        shop.follow(MIGRATE, "old")
        shop.follow(COPY, "old")
        after = shop.rows("moved")
        differ = {
            f"{name}.{field}": (value, new["fields"].get(field))
            for name in before
            for old, new in zip(before[name], after[name], strict=True)
            for field, value in old["fields"].items()
            if meaning(new["fields"].get(field)) != meaning(value)
        }
        assert differ == {}
        assert len(before["checkout_integration.order"]) == 2 and before["checkout_integration.transition"]
        shop.follow(COMPARE, "moved")
        project.manage("checkout_work", "--once", settings="moved", **variables)
        assert project.notes()[notes:] == []
        delivered = 'from shop.models import Delivery; print("left", Delivery.objects.count())'
        assert project.manage("shell", "-c", delivered, settings="moved", **variables).split()[-1] == "1"
        again = shop.sell("moved")
        sandbox.payments.pay(again)
        shop.catch_up("moved")
        assert [note for note in project.notes()[notes:] if note.startswith("checkout_paid")] == [
            f"checkout_paid {again}"
        ]
