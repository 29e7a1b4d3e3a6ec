"""What is counted in the cache is counted anew by each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from checkout_integration.flows.monitoring import refusals


@pytest.fixture(autouse=True)
def _nothing_refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget refused requests, and failures of the cache."""
    monkeypatch.setattr(refusals.ThisProcess, "resting_until", 0.0)
    cache.clear()
    yield
    cache.clear()
