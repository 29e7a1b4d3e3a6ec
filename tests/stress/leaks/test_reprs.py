"""Whatever is printed, traced or logged by name shows neither secrets nor the customer."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from checkout_integration import flows
from checkout_integration.conf import app_settings
from checkout_integration.flows.inbox.storing import VerifiedNotification
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.sync.service import client_for
from checkout_integration.flows.webhook.receiving import WebhookRequest
from checkout_integration.models import Order
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol.notification import parse_notification
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.flows.conftest import _not_installed, hooks
from tests.stress.leaks.watch import SECRETS
from tests.support.customer import CANARIES, EXTERNAL_ID, SERVICE_ID, live, order_of_customer
from tests.support.flows.shop import ShopHooks, as_read

__all__ = ["_not_installed", "hooks"]
OF_A_PERSON = [word for word in CANARIES if word not in (EXTERNAL_ID, SERVICE_ID)]
"""The ids name a customer's row in the admin: that is what they are for."""


def shown_words(things: list[Any], words: list[str]) -> list[str]:
    """Return the words in the reprs and texts of the things."""
    said = [f"{each!r} {each!s}" for each in things]
    return [word for word in words if any(word in text for text in said)]


@pytest.mark.django_db
def test_no_row_says_whose_it_is(checkout_deliver: Deliver, hooks: type[ShopHooks]) -> None:
    """Rows of every model, and their parsed parts."""
    live(checkout_deliver, hooks)
    rows: list[Any] = [
        row
        for model in apps.get_app_config("checkout_integration").get_models()
        for row in model._default_manager.all()
    ]
    rows += [order.snapshot for order in Order.objects.all()]
    rows += flows.privacy.find_persons(external_id=EXTERNAL_ID)
    assert len(rows) > 40
    assert shown_words(rows, OF_A_PERSON) == []


def test_no_value_on_the_way_says_it() -> None:
    """From the request to the ledger."""
    notification = parse_notification(
        as_read(NotificationDocumentFactory(object=order_of_customer("order-1")))
    )
    body = " ".join(CANARIES).encode()
    project = app_settings().project()
    values = [
        WebhookRequest(body=body, authorization="Signature x", arrived_at=None),  # type: ignore[arg-type]
        VerifiedNotification(project=project, body=body, secret_position=0, arrived_at=None),  # type: ignore[arg-type]
        notification,
        notification.order(),
        Observation(source=Source.NOTIFICATION, order=notification.order()),
        Cause(source=Source.NOTIFICATION),
    ]
    assert shown_words(values, OF_A_PERSON) == []


def test_settings_and_client_say_no_secret() -> None:
    """Nor does what they are made of."""
    project = app_settings().project()
    with client_for(project) as client:
        values = [app_settings(), app_settings().projects, project, project.secrets, client, vars(client)]
        assert shown_words(values, list(SECRETS)) == []
