"""docs/postgresql.md: a shop with its settings, on a PostgreSQL and behind a pooler; its connections are counted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from checkout_integration.management.commands.checkout_work import SLOTS
from tests.support.databases import databases_for
from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import BlankProject
from tests.support.paths.merchant import await_that
from tests.support.paths.new_database import PASSWORD, new_database

OF_THE_PAGE = {
    "direct": block("docs/postgresql.md", "# mysite/settings.py, PostgreSQL"),
    "pooled": block("docs/postgresql.md", "# mysite/settings.py, behind PgBouncer"),
}
SETTINGS = {"plain": "", "open": 'DATABASES["default"]["CONN_MAX_AGE"] = 600\n', **OF_THE_PAGE}
SAID = {"W009", "W015", "I001"}
"""What the page says of the check: none of these."""


@contextmanager
def shop(folder: Path) -> Iterator[tuple[BlankProject, dict[str, str]]]:
    """Make a project on a PostgreSQL, with each of the page's settings as a module; gives it, and the database's place."""
    project = BlankProject.write(folder / "project", Path(sys.executable), "http://127.0.0.1:9")
    with new_database() as place:
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": place["NAME"],
            "USER": place["USER"],
            "PASSWORD": PASSWORD,
            "HOST": place["DATABASE_HOST"],
            "PORT": place["DATABASE_PORT"],
        }
        begin = f'from mysite.settings import *\n\nDATABASES = {{"default": {database!r}}}\n'
        for name, text in SETTINGS.items():
            settings = f'{begin}CHECKOUT_INTEGRATION["RUNNER"] = "worker"\n{text}'
            (project.folder / "mysite" / f"with_{name}.py").write_text(settings)
        yield project, {**place, "PYTHONPATH": f"{ROOT}{os.pathsep}{project.folder}"}


@pytest.mark.slow
@pytest.mark.postgres
def test_the_check_says_what_the_page_says(tmp_path: Path) -> None:
    """Both ids that the settings are about without them, and none with them."""
    with shop(tmp_path) as (project, place):
        variables = {"PYTHONPATH": place["PYTHONPATH"]}
        project.run("manage.py", "migrate", settings="direct", **variables)
        command = block("docs/postgresql.md", "$ python manage.py check --deploy --database default")

        def said(settings: str) -> set[str]:
            printed = project.follow(command, "--fail-level", "CRITICAL", settings=settings, **variables)
            return {each for each in SAID if f"checkout_integration.{each}" in printed}

        assert {name: said(name) for name in SETTINGS} == {
            "plain": {"W009"},
            "open": {"I001"},
            "direct": set(),
            "pooled": set(),
        }


@pytest.mark.slow
@pytest.mark.postgres
def test_a_worker_has_the_connections_of_the_page(tmp_path: Path) -> None:
    """One for each slot, and one more for the list."""
    with shop(tmp_path) as (project, place):
        variables = {"PYTHONPATH": place["PYTHONPATH"]}
        project.run("manage.py", "migrate", settings="direct", **variables)
        server = databases_for({**os.environ, "CHECKOUT_TEST_DATABASE": "postgres"})["default"]
        with (
            project.running("$ python manage.py checkout_work", settings="direct", **variables),
            psycopg.connect(
                dbname=server["NAME"],
                host=server["HOST"],
                port=server["PORT"] or "5432",
                user=server["USER"],
                password=server["PASSWORD"],
                autocommit=True,
            ) as admin,
        ):
            count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"

            def connections() -> int:
                row = admin.execute(count, [place["NAME"]]).fetchone()
                return int(row[0]) if row else 0

            await_that(lambda: connections() >= SLOTS, lambda: f"{connections()} connections")
            assert connections() in {SLOTS, SLOTS + 1}


@pytest.mark.postgres
@pytest.mark.django_db
def test_autovacuum_of_the_page() -> None:
    """Both tables have the setting afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(block("docs/postgresql.md", "-- once, in psql or in a migration of your own"))
        cursor.execute(
            "SELECT relname FROM pg_class WHERE 'autovacuum_vacuum_scale_factor=0.02' = ANY(reloptions)"
        )
        assert {name for (name,) in cursor.fetchall()} == {
            "checkout_integration_notification",
            "checkout_integration_receiverrun",
        }
