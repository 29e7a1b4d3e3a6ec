"""Running sandboxes of both profiles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.sandbox.service import Service, running


@pytest.fixture
def field() -> Iterator[Service]:
    """A sandbox that behaves like deployed services."""
    with running() as service:
        yield service


@pytest.fixture
def spec() -> Iterator[Service]:
    """A sandbox that behaves as the specification says."""
    with running(profile="spec") as service:
        yield service


@pytest.fixture(params=["field", pytest.param("spec", marks=pytest.mark.slow)])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A sandbox of each profile in turn."""
    with running(profile=request.param) as service:
        yield service
