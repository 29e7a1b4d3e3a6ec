"""A shop whose release is chosen by the environment. Each receiver leaves a row with its name and the order."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.apps import AppConfig

RELEASE: Final = "CHECKOUT_RELEASE"
"""A change and "old" or "new"."""
RELEASES: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "added old": {"deliver": {}},
    "added new": {"deliver": {}, "letter": {}},
    "removed old": {"deliver": {}, "letter": {}},
    "removed new": {"deliver": {}},
    "renamed old": {"deliver": {}},
    "renamed new": {"grant": {"formerly": "deliver"}},
}
"""The receivers of checkout_paid of each release, with their options."""
RECORD_EVERY: Final = 0.5
"""Seconds for a minute: the test moves the time of the rows, not that of the processes."""


class ReleasesShop(AppConfig):
    """Connects the receivers of the release."""

    name = "tests.stress.releases"
    label = "releases_shop"

    def ready(self) -> None:
        """Connect them."""
        from checkout_integration.flows.outbox import receivers
        from checkout_integration.signals import checkout_paid

        receivers.RECORD_EVERY = RECORD_EVERY  # type: ignore[misc]
        for name, options in RELEASES[os.environ[RELEASE]].items():
            checkout_paid.connect(noting(name), weak=False, dispatch_uid=name, **options)


def noting(name: str) -> Callable[..., None]:
    """Return a receiver that notes that it ran, as often as it does."""

    def note(order: Any, **arguments: Any) -> None:
        from django.contrib.auth.models import Group

        Group.objects.create(name=f"{name} {order.order_id} {uuid.uuid4().hex}")

    return note
