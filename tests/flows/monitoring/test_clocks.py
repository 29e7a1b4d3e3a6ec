"""Health names the hosts whose clocks differ from the database's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checkout_integration.flows.operations import Finding, health
from checkout_integration.models import HostClock

pytestmark = pytest.mark.django_db


def clocks() -> Finding:
    """The finding."""
    (found,) = [each for each in health().findings if each.name == "clocks"]
    return found


def test_no_host_differs() -> None:
    """Nothing was noted, or too long ago."""
    long_ago = datetime.now(UTC) - timedelta(hours=2)
    HostClock.objects.create(host="gone", seconds_ahead=100, measured_at=long_ago)
    assert (clocks().severity, dict(clocks().figures)) == ("ok", {"hosts": 0})


def test_hosts_that_differ_are_named() -> None:
    """Each by how much, and what to do."""
    for host, ahead in (("web-1", 7200.0), ("web-2", -3.0)):
        HostClock.objects.create(host=host, seconds_ahead=ahead, measured_at=datetime.now(UTC))
    found = clocks()
    assert (found.severity, found.figures["most_seconds"]) == ("warning", 7200.0)
    assert "web-1 is 2 h ahead; web-2 is 3 s behind" in found.text
    assert "chrony" in found.action
