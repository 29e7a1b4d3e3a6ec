"""The gauges: read from health once for each collection, with no connection left open."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from checkout_integration import gauges, telemetry
from checkout_integration.flows.operations import health
from tests.flows.conftest import _not_installed, _nothing_refused, database_away
from tests.support.admin import rows
from tests.support.flows.notified import came, installed
from tests.support.flows.shop import statements
from tests.support.measured import Measured

__all__ = ["_not_installed", "_nothing_refused", "database_away"]


@pytest.mark.django_db
def test_every_gauge_is_read() -> None:
    """Each has a source, and a value where its figure is known."""
    now = datetime.now(UTC)
    installed(now - timedelta(hours=1))
    came(now)
    assert telemetry.GAUGES.keys() == {"checkout.health", *gauges.FIGURES}
    Measured()
    assert [gauge for gauge in gauges.FIGURES if not list(gauges.figures(gauge))] == []


@pytest.mark.django_db
def test_each_finding_has_its_severity() -> None:
    """As health says it."""
    rows.make_incident(None)
    measured = Measured()
    values = {finding.name: finding.severity.level for finding in health().findings}
    assert {name: measured.value("checkout_health", finding=name) for name in values} == values
    assert values["incidents"] == measured.value("checkout_incidents_open") == 1


@pytest.mark.django_db
def test_one_collection_reads_health_once() -> None:
    """However many gauges there are."""
    measured = Measured()
    with statements() as alone:
        health()
    with statements() as seen:
        measured.samples()
    assert len(seen) == len(alone)


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_left_open() -> None:
    """Metrics are collected in threads of the exporter, in which no request ends."""
    left = list[object]()

    def collect() -> None:
        gauges.ThisProcess.health = None
        gauges.current()
        left.append(connections["default"].connection)

    collector = threading.Thread(target=collect)
    collector.start()
    collector.join()
    assert left == [None]


@pytest.mark.django_db
def test_a_connection_that_was_open_stays_open() -> None:
    """It is the request's, or the test's."""
    installed(datetime.now(UTC))
    gauges.ThisProcess.health = None
    gauges.current()
    assert connections["default"].connection is not None
