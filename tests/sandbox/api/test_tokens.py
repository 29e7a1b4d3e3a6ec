"""Token creation: authentication, required fields, refusals."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import Service, running

BUY = {"type": "simple", "amount": 5, "currency": "EUR"}


@pytest.mark.spec("EP1-01", "EP1-02", "EP1-23", "TOK-01", "TOK-02", "SVC-02")
def test_a_token_comes_with_its_form(service: Service) -> None:
    """The response has exactly the token and the address of a form."""
    answer = service.token(BUY)
    assert answer.status_code == 200
    assert set(answer.json()) == {"token", "payment_form_url"}
    assert requests.get(answer.json()["payment_form_url"], timeout=10).status_code == 200


@pytest.mark.spec("EP1-11", "EP1-12", "EP1-14", "EP1-15", "EP1-17", "EP1-19", "EP2-18")
@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"type": "simple", "currency": "EUR"}, "settings.amount"),
        ({"type": "simple", "amount": 5}, "settings.currency"),
        ({"type": "product"}, "settings.products"),
        ({"type": "key", "products_ids": []}, "settings.products"),
        ({"type": "key", "products_ids": ["a", "b"]}, "settings.products"),
        ({}, "settings.type"),
        ({**BUY, "project_id": None}, "settings.project_id"),
    ],
)
def test_what_a_type_requires_must_be_there(service: Service, settings: dict[str, Any], field: str) -> None:
    """A missing field is a 400 with its name in the details."""
    answer = service.token(settings)
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10")
@pytest.mark.parametrize(
    ("user", "field"),
    [
        ({}, "user.id"),
        ({"id": "u", "email": "a@example.com"}, "user.email"),
        ({"id": "u", "email": {"value": "a@example.com", "verified": "yes"}}, "user.email.verified"),
        ({"id": "u", "phone": {"value": 5}}, "user.phone.value"),
        ({"id": "u", "name": "Ada"}, "user.name"),
        ({"id": "u", "ip": {"value": "999.1.1.1"}}, "user.ip.value"),
        ({"id": "u", "locale": {"value": "en"}}, "user.locale.value"),
        ({"id": "u", "locale": {"value": "!!!!!"}}, "user.locale.value"),
        ({"id": "u", "address": {"country": "de"}}, "user.address.country"),
    ],
)
def test_customer_data_has_its_shapes(service: Service, user: dict[str, Any], field: str) -> None:
    """Each field of the customer is checked, and named when it is wrong."""
    answer = service.token(BUY, user)
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("EP1-13", "EP1-16", "EP1-18", "EP1-19", "EP1-20", "EP1-21", "EP1-22")
@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"description": "x" * 256}, "settings.description"),
        ({"button_caption": "x" * 19}, "settings.button_caption"),
        ({"metadata": {"k": 1}}, "settings.metadata"),
        ({"metadata": {"k": "x" * 256}}, "settings.metadata"),
        ({"return_url": {"success": "javascript:alert(1)"}}, "settings.return_url.success"),
        ({"type": "gold"}, "settings.type"),
        ({"platform_id": "amiga"}, "settings.platform_id"),
        ({"is_buy_for_virtual_currency": "yes"}, "settings.is_buy_for_virtual_currency"),
        ({"currency": "usd"}, "settings.currency"),
        ({"amount": "5"}, "settings.amount"),
        ({"amount": 0}, "settings.amount"),
        ({"amount": 1.234}, "settings.amount"),
        ({"products_ids": ["a"]}, "settings.products"),
    ],
)
def test_settings_have_their_limits(service: Service, settings: dict[str, Any], field: str) -> None:
    """Each setting that breaks its rule is a 400 with its name in the details."""
    answer = service.token({**BUY, **settings})
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.spec("AUT-05", "HTT-06", "HTT-01")
@pytest.mark.parametrize(("profile", "status"), [("spec", 401), ("field", 400)])
@pytest.mark.parametrize("secret", [None, "sandbox_other"])
def test_a_token_needs_the_secret(profile: str, status: int, secret: str | None) -> None:
    """Without the right secret there is no token: 401 by the specification, 400 in the field."""
    with running(profile=profile) as service:
        answer = service.token(BUY, secret=secret)
    assert answer.status_code == status
    assert set(answer.json()) >= {"code", "message"}


@pytest.mark.spec("EP1-23", "HTT-09", "HTT-15")
@pytest.mark.parametrize(("profile", "status"), [("spec", 404), ("field", 400)])
def test_an_unknown_project_has_no_tokens(profile: str, status: int) -> None:
    """A project that does not exist is a 404 by the specification, a 400 in the field."""
    with running(profile=profile) as service:
        assert service.token({**BUY, "project_id": "nobody"}).status_code == status


@pytest.mark.spec("HTT-07")
def test_a_live_project_must_be_activated() -> None:
    """Live requests of an account that is not yet activated are a 402."""
    with running(live=True, activated=False) as service:
        assert service.token(BUY).status_code == 402
