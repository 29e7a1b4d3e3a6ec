"""The client of a project, made from its settings, and the pause after a 429 that all workers of the sync share."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Max, Q, QuerySet
from django.utils.module_loading import import_string

from checkout_integration.client import ClientConfig
from checkout_integration.client.config import can_travel
from checkout_integration.client.pace import LONGEST_SHARED_PAUSE, Pace
from checkout_integration.conf import SETTING, Project, app_settings
from checkout_integration.models import SyncCursor
from checkout_integration.protocol.listing import ArrayStyle

if TYPE_CHECKING:
    from checkout_integration.client import Client

SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = float(LONGEST_SHARED_PAUSE)
"""Seconds between a response 429 and the next request of any worker."""


def service_client(project: str = "default") -> Client:
    """Return a client for calls that no flow makes, for instance of lists. Use it as a context manager: it has connections.

    Args:
        project: alias of the project in the settings.

    """
    return client_for(app_settings().project(project))


def client_for(project: Project, *, pace: Pace | None = None) -> Client:
    """Return a client with the project's secrets. Use it as a context manager: it has connections.

    Raises ``ImproperlyConfigured`` where a callable returns a secret that no header can carry; `check` sees all others.
    """
    from checkout_integration.client import Client

    secret_key, *other_keys = project.secrets
    if not can_travel(secret_key):
        raise ImproperlyConfigured(
            f"SECRET_KEY of project {project.alias!r} in {SETTING} returns what no header can carry. Let it return "
            "printable ASCII without blanks at its ends: manage.py check --deploy looks at it."
        )
    new_session = import_string(project.http_session) if project.http_session else None
    return Client(
        ClientConfig(
            project_id=project.project_id,
            secret_key=secret_key,
            other_keys=tuple(other_keys),
            base_url=project.base_url,
            checkout_url=project.checkout_url,
            list_url=project.list_url,
            api_version=project.api_version,
            version_header=project.version_header,
            timeout=project.timeout if pace is None else project.page_timeout,
            allow_http_loopback=project.allow_http_loopback,
            allow_http_hosts=project.allow_http_hosts,
            list_end_parameter=project.list_end_parameter,
            list_array_style=cast("ArrayStyle", project.list_array_style),
            credential_codes=frozenset(project.credential_codes),
        ),
        session=new_session() if new_session else None,
        pace=pace,
    )


class SharedPace:
    """The pace of all workers that read a project's list: after a 429 none of them sends a request for a while.

    The end of the pause is a column of the project's cursors. A worker that reads on looks at it each second.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._looks_again_at = 0.0

    def wait(self) -> None:
        """Wait until the pause is over; another worker may extend it meanwhile."""
        if time.monotonic() < self._looks_again_at:
            return
        while (seconds := self._left()) > 0:
            time.sleep(min(seconds, LONGEST_PAUSE))
        self._looks_again_at = time.monotonic() + SHORTEST_PAUSE

    def slow_down(self, seconds: float) -> None:
        """Begin a pause, or extend it."""
        self._looks_again_at = 0.0
        until = datetime.now(UTC) + timedelta(seconds=min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE))
        shorter = Q(paused_until=None) | Q(paused_until__lt=until)
        self._cursors().filter(shorter).update(paused_until=until)

    def _left(self) -> float:
        until = self._cursors().aggregate(until=Max("paused_until"))["until"]
        return (until - datetime.now(UTC)).total_seconds() if until else 0.0

    def _cursors(self) -> QuerySet[SyncCursor]:
        return SyncCursor.primary.filter(project=self._project.alias)
