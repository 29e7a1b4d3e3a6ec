"""The only reader of ``settings.CHECKOUT_INTEGRATION``.

`app_settings()` gives frozen, typed settings, read on first use and dropped when a test changes them. `problems()` says what
is wrong with the setting as it is written; the system checks print the same sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from checkout_integration.conf.problems import (
    APP_NAMES,
    MAIL_ADMINS,
    SETTING,
    SHORTEST_SECRET,
    Problem,
    health_token_problems,
    http_hosts,
    no_projects,
    ownership_token_problems,
    problems,
    secret_problems,
)
from checkout_integration.conf.project import AppSettings, Project, UnknownAlias

__all__ = [
    "MAIL_ADMINS",
    "SETTING",
    "SHORTEST_SECRET",
    "AppSettings",
    "Problem",
    "Project",
    "UnknownAlias",
    "app_settings",
    "health_token_problems",
    "ownership_token_problems",
    "problems",
    "project_aliases",
    "secret_problems",
]


@cache
def app_settings() -> AppSettings:
    """Return the settings. Raises ``ImproperlyConfigured`` with the first problem when they cannot be used."""
    # An error page shows the variables of every frame that it passed: the setting is never one of ours when we raise.
    problem = _first_problem()
    if problem:
        raise ImproperlyConfigured(f"{problem.message} {problem.hint}")
    return _resolved(getattr(django_settings, SETTING))


def project_aliases() -> list[str]:
    """Return the aliases of the projects as they are written, for code that runs before Django's models can be imported.

    Raises ``ImproperlyConfigured`` when there are none. `app_settings` reports all other problems, since it imports the
    shop's hooks.
    """
    if why := no_projects(getattr(django_settings, SETTING, None)):
        raise ImproperlyConfigured(why)
    return list(getattr(django_settings, SETTING)["PROJECTS"])


def _first_problem() -> Problem | None:
    return next(problems(getattr(django_settings, SETTING, None)), None)


def _resolved(raw: Mapping[str, Any]) -> AppSettings:
    shared = {name: value for name, value in raw.items() if name not in APP_NAMES}
    projects = {alias: _project(alias, shared | dict(own)) for alias, own in raw["PROJECTS"].items()}
    own = {name.lower(): raw[name] for name in APP_NAMES - {"PROJECTS"} if name in raw}
    return AppSettings(projects=projects, **own)


def _project(alias: str, values: Mapping[str, Any]) -> Project:
    named: dict[str, Any] = {
        name.lower(): tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    named["allow_http_hosts"] = http_hosts(values)
    named["list_url"] = named.get("list_url") or named["base_url"]
    return Project(alias=alias, **named)


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: object) -> None:
    if setting == SETTING:
        app_settings.cache_clear()
