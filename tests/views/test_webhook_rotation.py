"""A secret is replaced while notifications come in: none is refused before the old one is taken off the list."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Notification
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import NotificationDocumentFactory, OrderDocumentFactory
from tests.support.scale import times

pytestmark = pytest.mark.django_db
OLD, NEW = "sandbox_secret_that_goes", "sandbox_secret_that_comes"
MANY = times(40, 5000, quick_run=12)


def configure(settings: Any, *secrets: str) -> None:
    """The first is the current secret, the others are previous ones."""
    own = {"PROJECT_ID": "test-project", "SECRET_KEY": secrets[0], "PREVIOUS_SECRET_KEYS": list(secrets[1:])}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}


def envelope(number: int) -> Any:
    """The notification of this number."""
    return NotificationDocumentFactory(object=OrderDocumentFactory(id=f"order-{number}"))


def deliver_all(deliver: Deliver, numbers: range, *secrets: str, delivery_try: int) -> Counter[int]:
    """Deliver them shuffled, signed with the secrets in turn; return the count of each status code."""
    jobs = [(number, secrets[number % len(secrets)]) for number in numbers]
    random.Random(24).shuffle(jobs)
    answers = (deliver(envelope(number), secret=secret, delivery_try=delivery_try) for number, secret in jobs)
    return Counter(answer.status_code for answer in answers)


def test_a_secret_is_replaced_in_the_middle_of_traffic(
    checkout_deliver: Deliver, settings: Any, admin_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Half signed by each, retries cross the switch: all taken while both are listed, none signed by the old one after."""
    half = MANY // 2
    configure(settings, OLD)
    assert deliver_all(checkout_deliver, range(half), OLD, delivery_try=0) == {200: half}
    configure(settings, NEW, OLD)
    assert deliver_all(checkout_deliver, range(half), NEW, OLD, delivery_try=1) == {200: half}
    assert deliver_all(checkout_deliver, range(half, MANY), OLD, NEW, delivery_try=0) == {200: MANY - half}
    positions = Counter(Notification.objects.values_list("secret_position", flat=True))
    attempts = MANY + half  # each is a row: its bytes are its own
    assert positions == {0: half + (attempts - half) // 2, 1: attempts - half - (attempts - half) // 2}
    configure(settings, NEW)
    assert deliver_all(checkout_deliver, range(MANY), OLD, delivery_try=2) == {401: MANY}
    assert deliver_all(checkout_deliver, range(half), NEW, delivery_try=2) == {200: half}
    assert Notification.objects.count() == attempts + half
    row = Notification.objects.filter(secret_position=1).first()
    assert row is not None
    page = admin_client.get(f"/admin/checkout_integration/notification/{row.pk}/change/").content.decode()
    assert "previous secret 1" in page
    assert [each for each in (OLD, NEW) if each in page + caplog.text] == []
