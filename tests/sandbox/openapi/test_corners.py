"""Corners of the sandbox that the description brought to light, each once by hand."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.support.sandbox.service import Service


@pytest.mark.spec("ORD-22", "EP2-04")
@pytest.mark.parametrize(
    "parameters",
    [
        {"amount": 10.5, "currency": "JPY"},
        {"amount": 0.4, "currency": "JPY"},
        {"amount": 1.2345, "currency": "KWD"},
        {"type": "virtual_currency", "amount": 0.4, "currency": "JPY"},
        {"type": "virtual_currency", "amount": 0.001, "currency": None},
    ],
)
def test_an_amount_that_no_coin_can_pay_is_refused(service: Service, parameters: dict[str, Any]) -> None:
    """An order's amount is positive and as requested, never rounded."""
    answer = service.create(**parameters)
    assert answer.status_code == 400
    assert answer.json()["details"].startswith("amount: ")


@pytest.mark.spec("EP2-09")
@pytest.mark.parametrize(
    "url", ["ht\ntps://shop.example/", " https://shop.example/", "https://shop.example/a b", "https:///a"]
)
def test_an_address_that_only_a_browser_would_mend_is_refused(service: Service, url: str) -> None:
    """A return URL is taken as written or not at all."""
    assert service.create(url_success=url).status_code == 400


@pytest.mark.spec("EP2-09")
@pytest.mark.parametrize("url", ["HTTPS://Shop.example", "http://[::1]:8000/?a=ä#b", "http://localhost/a/b"])
def test_a_proper_address_is_accepted(service: Service, url: str) -> None:
    """Scheme and host in any case, numbers for hosts, ports, paths, queries."""
    assert service.create(url_success=url).status_code == 200


@pytest.mark.spec("EP1-09")
@pytest.mark.parametrize("locale", ["en;q=0.٥", "en,\u2003de"])
def test_a_locale_of_other_scripts_is_refused(service: Service, locale: str) -> None:
    """RFC 7231 knows ASCII digits, blanks and tabs."""
    settings = {"type": "simple", "amount": 1, "currency": "USD"}
    assert service.token(settings, {"id": "u", "locale": {"value": locale}}).status_code == 400


def test_a_405_names_the_methods(service: Service) -> None:
    """RFC 9110 requires an Allow header."""
    answer = requests.delete(f"{service.url}/api/v1/tokens", timeout=10)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.spec("EP3-08")
def test_a_period_has_two_ends(service: Service) -> None:
    """A third date has no meaning, and a wrong second one is refused even beside project_date_to."""
    start = ("project_date_from", "2026-03-04T00:00:00")
    assert service.listed(start, start).status_code == 200
    assert service.listed(start, start, start).status_code == 400
    wrong = ("project_date_from", "yesterday")
    assert service.listed(start, wrong, ("project_date_to", start[1])).status_code == 400


@pytest.mark.spec("AUT-05", "ERR-01", "ERR-02", "ERR-03")
def test_the_list_refuses_with_a_whole_error_object(spec: Service) -> None:
    """By the specification an error has code, message and details wherever it comes from."""
    answer = spec.listed(secret="sandbox_wrong")
    assert answer.status_code == 401
    assert set(answer.json()) == {"code", "message", "details"}
