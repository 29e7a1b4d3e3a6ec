"""The hosts: what each sets differently from `tests.settings`, and the server that it runs under in every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.settings import CHECKOUT_INTEGRATION, INSTALLED_APPS, MIDDLEWARE

SERVERS = {
    "sync": ["gunicorn", "--no-control-socket", "--worker-class", "sync"],
    "threads": ["gunicorn", "--no-control-socket", "--worker-class", "gthread", "--threads", "4"],
    "asgi": ["uvicorn", "--no-access-log"],
}
OURS = "tests.stress.hosts.middleware"
COMMON = "django.middleware.common.CommonMiddleware"
LANGUAGES = "django.middleware.locale.LocaleMiddleware"


@dataclass(frozen=True, kw_only=True)
class Host:
    """A project: its settings, and how its receiver is reached.

    ``own_statements``: its middleware speaks to the database at every request. ``every_database``: the database has a say in
    its settings, so it is tried on each; the others live on SQLite.
    """

    server: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    own_statements: bool = False
    every_database: bool = False


def first(*middleware: str) -> dict[str, Any]:
    """Middleware in front of all others."""
    return {"MIDDLEWARE": [*middleware, *MIDDLEWARE]}


def last(*middleware: str) -> dict[str, Any]:
    """Middleware right before the view."""
    return {"MIDDLEWARE": [*MIDDLEWARE, *middleware]}


SEVERAL = {
    alias: {"PROJECT_ID": f"{alias}-project", "SECRET_KEY": f"sandbox_secret_of_{alias}"}
    for alias in ("europe", "asia")
}
HOSTS = {
    "atomic requests": Host(server="sync", changes={"ATOMIC_REQUESTS": True}, every_database=True),
    "login required": Host(
        server="threads", changes=last("django.contrib.auth.middleware.LoginRequiredMiddleware")
    ),
    "no common middleware": Host(
        server="sync", changes={"MIDDLEWARE": [each for each in MIDDLEWARE if each != COMMON]}
    ),
    "slashes appended": Host(server="asgi", changes={"APPEND_SLASH": True}),
    "slashes not appended": Host(server="threads", changes={"APPEND_SLASH": False}),
    "only https": Host(
        server="sync",
        changes={
            "SECURE_SSL_REDIRECT": True,
            "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
            "SECURE_HSTS_SECONDS": 3600,
        },
        headers={"X-Forwarded-Proto": "https"},
    ),
    "no time zones": Host(
        server="sync", changes={"USE_TZ": False, "TIME_ZONE": "America/New_York"}, every_database=True
    ),
    "New York": Host(server="asgi", changes={"TIME_ZONE": "America/New_York"}),
    "body read before": Host(server="sync", changes=first(f"{OURS}.ReadingBody")),
    "form read before": Host(server="threads", changes=first(f"{OURS}.ReadingForm")),
    "answers compressed": Host(server="asgi", changes=first("django.middleware.gzip.GZipMiddleware")),
    "lagging replica": Host(
        server="threads", changes={"DATABASE_ROUTERS": ["tests.stress.hosts.replica.Lagging"]}
    ),
    "custom user": Host(
        server="sync",
        changes={
            "AUTH_USER_MODEL": "members.Member",
            "INSTALLED_APPS": [*INSTALLED_APPS, "tests.stress.hosts.members"],
        },
    ),
    "tiny uploads": Host(server="asgi", changes={"DATA_UPLOAD_MAX_MEMORY_SIZE": 1000}),
    "debug": Host(server="threads", changes={"DEBUG": True}),
    "several projects": Host(
        server="asgi",
        changes={
            "CHECKOUT_INTEGRATION": {
                **CHECKOUT_INTEGRATION,
                "PROJECTS": {**SEVERAL, **CHECKOUT_INTEGRATION["PROJECTS"]},
            }
        },
    ),
    "languages": Host(
        server="threads",
        changes={
            "LANGUAGE_CODE": "de",
            "USE_I18N": True,
            "USE_THOUSAND_SEPARATOR": True,
            **first(LANGUAGES),
        },
        prefix="/de",
        headers={"Accept-Language": "de"},
    ),
    "heavy sessions": Host(
        server="sync",
        changes={"SESSION_SAVE_EVERY_REQUEST": True, "CSRF_USE_SESSIONS": True, **last(f"{OURS}.Counting")},
        own_statements=True,
    ),
    "async middleware": Host(
        server="asgi", changes={"MIDDLEWARE": [f"{OURS}.awaiting", *MIDDLEWARE, f"{OURS}.awaiting"]}
    ),
}
