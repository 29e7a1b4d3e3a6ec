"""The shop and everything around it as real processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from redis import ConnectionError as NotThere
from redis import Redis

from tests.stress.chaos.names import SANDBOX, SANDBOX_RETRY_SECONDS, SANDBOX_SECRET, WEB_WORKERS
from tests.stress.chaos.parts import Part, Watchman, await_true
from tests.stress.chaos.places import Places
from tests.stress.chaos.servers import Postgres, redis_program

CELERY_CHILDREN = 2
READY_WITHIN = 60.0


@dataclass(frozen=True, kw_only=True)
class Running:
    """All parts of the trial."""

    places: Places
    postgres: Postgres
    redis: Part
    sandbox: Part
    web: Part
    celery: Part
    beat: Part
    worker: Part
    watchman: Watchman
    celery_children: int

    @property
    def parts(self) -> list[Part]:
        """Everything but the database."""
        return [self.redis, self.sandbox, self.web, self.celery, self.beat, self.worker]

    def redis_answers(self) -> bool:
        """Whether the broker takes commands."""
        try:
            with Redis(port=self.places.redis, socket_timeout=1) as client:
                return bool(client.ping())
        except NotThere:
            return False


@contextmanager
def running(
    places: Places, prepare: Callable[[Postgres], None], celery_children: int = CELERY_CHILDREN
) -> Iterator[Running]:
    """Start everything, `prepare` the database when it is up, and end everything."""
    places.fuses.mkdir()
    postgres = Postgres(places)
    everything = _parts(places, postgres, celery_children)
    with ExitStack() as stack:
        stack.callback(postgres.stop)
        postgres.create()
        for part in everything.parts:
            stack.callback(part.stop)
        everything.redis.start()
        everything.sandbox.start()
        prepare(postgres)
        for part in (everything.web, everything.celery, everything.beat, everything.worker):
            part.start()
        await_ready(everything)
        stack.enter_context(everything.watchman)
        yield everything


def await_ready(everything: Running) -> None:
    """Return when each process of the shop has its children and answers. Raises TimeoutError."""
    await_true("the broker answers", everything.redis_answers, READY_WITHIN)
    for part, count in ((everything.web, WEB_WORKERS), (everything.celery, everything.celery_children)):
        await_true(f"{part.name} has {count} children", partial(_has, part, count), READY_WITHIN)


def _has(part: Part, count: int) -> bool:
    return len(part.children()) >= count


def _parts(places: Places, postgres: Postgres, celery_children: int) -> Running:
    armed, plain = places.environment(armed=True), places.environment(armed=False)
    python = [sys.executable, "-m"]

    def part(name: str, *command: str, module: bool = True, environment: dict[str, str] = armed) -> Part:
        return Part(name, [*(python if module else ()), *command], environment, places.folder)

    redis = ("--port", str(places.redis), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
    gunicorn = (
        "gunicorn",
        "--config",
        "python:tests.stress.chaos.shop.web_server",
        "tests.stress.chaos.shop.wsgi",
    )
    celery = ("celery", "--app", "tests.stress.chaos.shop.celery")
    prefork = ("worker", "--concurrency", str(celery_children), "--without-gossip", "--without-mingle")
    parts = Running(
        places=places,
        postgres=postgres,
        redis=part("redis", redis_program(), *redis, "--dir", str(places.folder), module=False),
        sandbox=part("sandbox", *_sandbox(places), environment=plain),
        web=part("web", *gunicorn),
        celery=part("celery", *celery, *prefork, "--loglevel", "WARNING"),
        beat=part("beat", *celery, "beat", "--loglevel", "WARNING", environment=plain),
        worker=part("checkout_work", "django", "checkout_work", "--interval", "1", "--slots", "2"),
        watchman=Watchman(),
        celery_children=celery_children,
    )
    parts.watchman.watch(parts.parts)
    return parts


def _sandbox(places: Places) -> tuple[str, ...]:
    """Return the sandbox's command; its project retries notifications after a second."""
    project = {
        "project_id": "chaos-sandbox",
        "secret_key": SANDBOX_SECRET,
        "webhook_url": places.webhook_url(SANDBOX),
        "retry_interval": SANDBOX_RETRY_SECONDS,
        "retry_limit": 100_000,
    }
    file = places.folder / "projects.json"
    file.write_text(json.dumps([project]), encoding="utf-8")
    state = str(places.folder / "service.sqlite3")
    address = ("--port", str(places.service), "--state", state)
    return ("checkout_integration.sandbox", *address, "--projects", str(file))
