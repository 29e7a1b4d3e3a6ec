"""The plug-in for django-health-check, from its version 4 on: health as one of the host's checks (docs/health.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from asgiref.sync import sync_to_async
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable

from checkout_integration.flows.operations import Severity, health


@dataclass
class CheckoutHealth(HealthCheck):
    """Fails if a finding of health is failing.

    Attributes:
        project: the alias of the one project to look at, and at the work that all share; all projects by default.
        fail_on: "warning" to fail on warnings too.

    """

    project: str | None = None
    fail_on: Literal["failing", "warning"] = "failing"

    async def run(self) -> None:
        """Look at health, with the connection of the request.

        Raises:
            ServiceUnavailable: with a sentence for each finding; there are no personal data in it.

        """
        await sync_to_async(self._look)()

    def _look(self) -> None:
        worst = Severity(self.fail_on).rank
        found = [each for each in health(self.project).findings if each.severity.rank >= worst]
        if found:
            raise ServiceUnavailable(" ".join(f"{each.name}: {each.sentence}" for each in found))
