"""Which secret a notification was signed with, where a project has, or had lately, a previous one."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from checkout_integration.models import Notification
from tests.support.admin import rows

pytestmark = pytest.mark.django_db
PAGE = "/admin/checkout_integration/notification/"


def signed_with(client: Client) -> list[str]:
    """The cells of the column, none where the list does not have it."""
    result = client.get(PAGE).context["cl"]
    if "secret" not in [getattr(each, "name", each) for each in result.list_display]:
        return []
    return [result.model_admin.secret(row) for row in result.result_list]


def test_without_a_previous_secret_the_list_says_nothing(admin_client: Client) -> None:
    """All are signed with the one that there is."""
    rows.make_notification("order-1")
    assert signed_with(admin_client) == []
    assert "a previous secret" not in admin_client.get(PAGE).text


def test_a_configured_secret_has_a_column(admin_client: Client, settings: Any) -> None:
    """It shows which notifications come with the previous one still."""
    given = settings.CHECKOUT_INTEGRATION
    project = {**given["PROJECTS"]["default"], "PREVIOUS_SECRET_KEYS": ["sandbox_secret_of_yesterday"]}
    settings.CHECKOUT_INTEGRATION = {**given, "PROJECTS": {"default": project}}
    rows.make_notification("order-1")
    rows.make_notification("order-2", secret_position=1)
    assert sorted(signed_with(admin_client)) == ["previous secret 1", "the current secret"]
    assert "a previous secret" in admin_client.get(PAGE).text
    result = admin_client.get(PAGE, {"signed": "previous"}).context["cl"]
    assert [row.object_id for row in result.result_list] == ["order-2"]


def test_a_secret_that_was_used_has_a_column(admin_client: Client) -> None:
    """Also after it was taken out of the settings."""
    rows.make_notification("order-1", secret_position=1)
    assert signed_with(admin_client) == ["previous secret 1"]
    Notification.objects.update(secret_position=0)
    assert signed_with(admin_client) == []
