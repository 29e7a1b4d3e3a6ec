"""Two customers, each with a client of their own."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from checkout_integration.hooks import Hooks


class Shop(Hooks):
    """Sells gems, by the shop's own price."""

    def build_checkout(self, request: Any, data: dict[str, Any]) -> Any:
        """Return the test's values, and note the call."""
        Shop.calls.append((request, data))
        if isinstance(Shop.answer, Exception):
            raise Shop.answer
        return Shop.answer

    calls: list[Any] = []
    answer: dict[str, Any] | Exception = {}


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    """The shop's own addresses and hooks; REST framework has no setting at all."""
    settings.ROOT_URLCONF = "tests.api.urls"
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "HOOKS": "tests.api.conftest.Shop"}


@pytest.fixture
def shop() -> type[Shop]:
    """The hook, which sells nothing yet."""
    Shop.calls, Shop.answer = [], {}
    return Shop


@pytest.fixture
def buyer(db: None) -> User:
    """The account that is logged in as `api`."""
    return User.objects.create_user("buyer")


@pytest.fixture
def stranger(db: None) -> User:
    """Another account."""
    return User.objects.create_user("stranger")


@pytest.fixture
def api(buyer: User) -> APIClient:
    """A client of the account, which raises nothing: an exception is a 500, as in production."""
    client = APIClient(raise_request_exception=False)
    client.force_login(buyer)
    return client
