"""Fixtures of the sync: a service whose list has the rows of the test, and an app that was installed long ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from checkout_integration.models import Installation
from tests.support.flows.list_service import HOUR_AGO, ListService, list_service


@pytest.fixture
def installed_long_ago(db: None) -> None:
    """Install the app long ago: no order is historic."""
    Installation.objects.create(project="default", installed_at=HOUR_AGO - timedelta(days=900))


@pytest.fixture
def service(settings: Any) -> Iterator[ListService]:
    """Give a service whose list has the rows of the test."""
    with list_service(settings) as service:
        yield service
