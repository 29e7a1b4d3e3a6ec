"""Two accounts in two projects: every address of the interface, every verb, each for the other's rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from checkout_integration.api import urls
from checkout_integration.models import Checkout, Order
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory

pytestmark = pytest.mark.django_db
VERBS = ("get", "head", "options", "post", "put", "patch", "delete", "trace")
NAMES = [each.name for each in urls.urlpatterns]


@pytest.fixture
def projects(settings: Any) -> list[str]:
    """Two projects of one shop."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    both = {"default": own, "second": own | {"PROJECT_ID": "second", "SECRET_KEY": "sandbox_second_secret"}}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": both}
    return list(both)


def addresses_of(order: Order | None) -> dict[str, str]:
    """Every address that there is, filled with what belongs to this order; with what does not exist for none."""
    reference = order.checkout.reference if order and order.checkout else "0" * 32
    ids = {"reference": reference, "order_id": order.order_id if order else "0" * 36}
    made = {}
    for each in urls.urlpatterns:
        path = str(each.pattern)
        for name, value in ids.items():
            path = path.replace(f"<str:{name}>", value)
        assert "<" not in path, "a new address: say here what it is filled with"
        made[str(each.name)] = f"/api/{path}"
    return made


def ask(account: User, verb: str, address: str) -> Any:
    """The response to an account."""
    client = APIClient(raise_request_exception=False)
    client.force_login(account)
    return client.generic(verb.upper(), address, data="{}", content_type="application/json")


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_of_one_tenant_is_shown_to_the_other(
    buyer: User, stranger: User, projects: list[str], verb: str, shop: Any
) -> None:
    """In both directions: another's rows look like missing ones, and nothing is changed."""
    owners = dict(zip((buyer, stranger), projects, strict=True))
    orders = {
        account: OrderFactory(project=project, checkout=CheckoutFactory(user=account, project=project))
        for account, project in owners.items()
    }
    before = sorted(Order.objects.values_list("pk", "status")), Checkout.objects.count()
    for asking, other in ((buyer, stranger), (stranger, buyer)):
        theirs, nothing = addresses_of(orders[other]), addresses_of(None)
        for name in NAMES:
            answer = ask(asking, verb, theirs[str(name)])
            if "list" in str(name):
                text = answer.content.decode()
                assert answer.status_code < 500
                assert orders[other].order_id not in text
                continue
            missing = ask(asking, verb, nothing[str(name)])
            assert answer.status_code == missing.status_code
            assert answer.status_code in ((200, 404) if verb == "options" else (404, 405))
            assert answer.content == missing.content
    assert (sorted(Order.objects.values_list("pk", "status")), Checkout.objects.count()) == before
