"""Settings that fail while a request is served: no secret reaches the response, the error page or the log."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from checkout_integration.testing.delivery import Deliver

SECRET = "sandbox_canary_of_a_secret"
OLD_SECRET = "sandbox_canary_of_an_old_secret"
CANARY = "canary-of-a-body"


def fails() -> str:
    """A vault that does not respond."""
    raise ConnectionError("the vault is away")


def says_nothing() -> Any:
    """A vault that knows no secret."""
    return None


@pytest.fixture
def debugging(settings: Any) -> Any:
    """Django's own error pages, which show the variables of every frame."""
    settings.DEBUG = True
    return settings


def configure(settings: Any, **changes: Any) -> None:
    """Give the project a secret of its own, and break something else."""
    own = {"PROJECT_ID": "test-project", "SECRET_KEY": SECRET, "PREVIOUS_SECRET_KEYS": [OLD_SECRET]}
    project = {name: changes.pop(name) for name in list(changes) if name in own}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {"default": own | project},
        **changes,
    }


def post(client: Client) -> Any:
    """A request of a stranger."""
    client.raise_request_exception = False
    return client.post("/checkout/webhook/", CANARY, content_type="application/json")


def test_a_wrong_setting_shows_no_secret(client: Client, debugging: Any) -> None:
    """The error names the setting; neither the secrets nor the body are on the page."""
    configure(debugging, BASE_ULR="https://service.invalid")
    page = post(client).content.decode()
    assert "BASE_ULR" in page
    assert not [each for each in (SECRET, OLD_SECRET) if each in page]


@pytest.mark.parametrize("source", [fails, says_nothing])
def test_a_vault_that_is_away_is_unavailable(
    client: Client, debugging: Any, caplog: pytest.LogCaptureFixture, source: Any
) -> None:
    """503: the service sends it again; nothing is shown to a stranger."""
    configure(debugging, SECRET_KEY=source)
    answer = post(client)
    assert answer.status_code == 503
    assert "secrets of project default" in caplog.text
    shown = answer.content.decode() + caplog.text
    assert not [each for each in (OLD_SECRET, CANARY) if each in shown]


@pytest.mark.spec("AUT-04")
@pytest.mark.django_db
def test_an_old_secret_counts_when_the_vault_answers(checkout_deliver: Deliver, settings: Any) -> None:
    """Callables are called at each request."""
    configure(settings, SECRET_KEY=lambda: SECRET)
    assert checkout_deliver(secret=OLD_SECRET).status_code == 200
