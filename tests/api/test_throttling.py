"""Rates by scope, which a shop sets and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.urls import reverse
from rest_framework.test import APIClient

from checkout_integration.api.throttling import READ, SELL
from checkout_integration.sandbox import Sandbox
from tests.api.conftest import Shop
from tests.support.documents import block

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_requests() -> Iterator[None]:
    """Forget the requests of other tests, which the cache counts."""
    cache.clear()
    yield
    cache.clear()


def rates(settings: Any, **rates: str) -> None:
    """Let the shop set these rates."""
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": rates}


def read(api: APIClient) -> int:
    """The status of a list of checkouts."""
    return api.get(reverse("checkout_api:checkout-list")).status_code


def test_without_a_rate_nobody_is_limited(api: APIClient) -> None:
    """No setting, no limit."""
    assert {read(api) for _ in range(9)} == {200}


@pytest.mark.spec("HTT-13", "LIM-03")
def test_reading_is_limited_by_its_scope(api: APIClient, settings: Any, stranger: User) -> None:
    """Each account for itself, over all addresses; the error has the service's shape and says when to come back."""
    rates(settings, checkout_read="2/min")
    assert [read(api) for _ in range(3)] == [200, 200, 429]
    refused = api.get(reverse("checkout_api:order-list"))
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert 0 < int(refused["Retry-After"]) <= 60
    api.force_login(stranger)
    assert read(api) == 200


def test_selling_has_a_rate_of_its_own(
    api: APIClient, settings: Any, checkout_sandbox: Sandbox, shop: type[Shop]
) -> None:
    """Whoever has sold enough may still look."""
    rates(settings, checkout_sell="1/min")
    shop.answer = {"amount": Decimal("9.99"), "currency": "USD"}
    sold = [api.post(reverse("checkout_api:checkout-list"), {}, format="json").status_code for _ in range(2)]
    assert sold == [201, 429]
    assert read(api) == 200


def test_a_shop_whose_own_views_have_scopes_need_not_name_ours(api: APIClient, settings: Any) -> None:
    """REST framework refuses a view with a scope that has no rate."""
    throttles = ["rest_framework.throttling.ScopedRateThrottle"]
    settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": throttles,
        "DEFAULT_THROTTLE_RATES": {"own": "1/min"},
    }
    assert read(api) == 200


def test_the_documented_rates_are_those_of_the_scopes(api: APIClient, settings: Any) -> None:
    """docs/reference/rest.md: the setting as it is written."""
    names: dict[str, Any] = {}
    exec(block("docs/reference/rest.md", "# settings.py, rates"), names)
    settings.REST_FRAMEWORK = names["REST_FRAMEWORK"]
    assert set(settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]) == {READ, SELL}
    assert read(api) == 200
