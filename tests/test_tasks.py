"""Celery: tasks that carry ids only, on a real worker and a real Redis."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from celery import Celery, current_app
from celery.contrib.testing.worker import start_worker

from checkout_integration import flows, tasks
from checkout_integration.models import Order, SyncRun
from checkout_integration.sandbox import Sandbox
from checkout_integration.schedule import beat_schedule
from checkout_integration.signals import checkout_paid, payment_success
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import OrderDocumentFactory
from tests.flows.conftest import _not_installed, listen
from tests.support.documents import ROOT, block
from tests.support.flows.shop import Listening

__all__ = ["_not_installed", "listen"]


@contextmanager
def as_current(app: Celery) -> Iterator[Celery]:
    """The app that shared tasks are published by, for as long as the block lasts; its broker has not failed yet."""
    before = current_app._get_current_object()  # type: ignore[attr-defined]
    app.set_current()
    tasks.ThisProcess.resting_until = tasks.ThisProcess.suppressed_until = 0.0
    try:
        yield app
    finally:
        tasks.ThisProcess.resting_until = tasks.ThisProcess.suppressed_until = 0.0
        before.set_current()
        app.close()


@pytest.fixture
def worker(redis_url: str, transactional_db: None, settings: Any) -> Iterator[Celery]:
    """A worker in a thread of this process, with a queue of its own on a real Redis."""
    app = Celery("shop", broker=redis_url, set_as_current=False)
    app.conf.task_default_queue = f"checkout-test-{uuid.uuid4()}"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}
    with as_current(app), start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=20):
        yield app


class Rung:
    """An effect that another thread can wait for."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def __call__(self, **arguments: Any) -> None:
        """Rings."""
        self.event.set()


@pytest.mark.slow
@pytest.mark.redis
def test_worker_runs_the_receivers(
    checkout_deliver: Deliver, worker: Celery, listen: Listening, settings: Any
) -> None:
    """The request publishes one task; the worker finds due runs by itself."""
    rung = Rung()
    heard = listen(payment_success, rung)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}
    assert checkout_deliver(order=OrderDocumentFactory()).status_code == 200
    assert rung.event.wait(30)
    assert len(heard) == 1


@pytest.mark.slow
@pytest.mark.redis
def test_worker_syncs(checkout_sandbox: Sandbox, worker: Celery, listen: Listening, settings: Any) -> None:
    """A sync by task finds a missed payment, and its receivers run after it."""
    rung = Rung()
    heard = listen(checkout_paid, rung)
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "celery"}
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    checkout_sandbox.payments.pay(checkout.order_id)
    tasks.sync_transactions.delay("default", "recent")
    assert rung.event.wait(30)
    assert (Order.objects.get().status, SyncRun.objects.get().state) == ("processed", "complete")
    assert [each["source"] for each in heard] == ["sync"]


@pytest.mark.django_db
def test_failed_sync_is_logged_with_its_failure(
    checkout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A refusal raises nothing in the worker; the log has the sync and the reason, and no secret."""
    checkout_sandbox.projects.update("test-project", secret_key="sandbox_rotated_secret")
    tasks.sync_transactions("default", "recent")
    run = SyncRun.objects.get()
    (entry,) = [each for each in caplog.records if each.name == "checkout_integration.tasks"]
    assert (run.state, entry.levelname) == ("failed", "ERROR")
    assert entry.getMessage() == f"The sync of default recent ended as failed: {run.failure}"
    assert "sandbox_test_secret" not in caplog.text


def test_schedule_names_every_project(settings: Any) -> None:
    """The drain of receivers, the sync of each project, and pruning; each names a task that is registered."""
    other = {"PROJECT_ID": "other", "SECRET_KEY": "sandbox_other_secret"}
    projects = {**settings.CHECKOUT_INTEGRATION["PROJECTS"], "other": other}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": projects}
    schedule = beat_schedule()
    assert {entry.get("args") for entry in schedule.values()} - {None} == {(project,) for project in projects}
    app = Celery("shop", set_as_current=False)
    app.finalize()
    assert {entry["task"] for entry in schedule.values()} <= set(app.tasks)
    drain = schedule["checkout_integration.run_due"]["schedule"]
    assert isinstance(drain, float) and drain <= 60
    assert all(isinstance(entry["schedule"], float) for entry in schedule.values())


def test_the_entries_of_the_shop_stay(settings: Any) -> None:
    """With the lines of the page: what `CELERY_BEAT_SCHEDULE` or an earlier line says is not replaced."""
    settings.CELERY_BEAT_SCHEDULE = {"nightly-invoices": {"task": "shop.tasks.invoices", "schedule": 86400}}
    blocks = (
        block("docs/receivers.md", "# mysite/celery.py"),
        block("docs/reference/commands.md", "# mysite/beat.py"),
    )
    for source in blocks:
        module: dict[str, Any] = {}
        exec(source, module)
        entries = set(module["app"].conf.beat_schedule)
        assert {"nightly-invoices", "checkout_integration.run_due"} <= entries


def test_the_schedule_is_made_before_models_can_be_imported() -> None:
    """A Celery app's module imports it long before Django's apps are loaded."""
    code = "from checkout_integration.schedule import beat_schedule; print(len(beat_schedule()))"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr


@pytest.mark.slow
def test_importing_them_makes_no_app() -> None:
    """Else web processes would publish to Celery's own default app, and not to the shop's, which is made later."""
    code = "import django, celery._state as s; django.setup(); import checkout_integration.tasks; assert not s.default_app"
    settings = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=settings)


def test_the_names_that_the_doctor_looks_for() -> None:
    """Are those of the tasks."""
    assert {getattr(tasks, name.rpartition(".")[2]).name for name in tasks.TASKS} == tasks.TASKS
