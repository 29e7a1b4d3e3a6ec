"""The script of the client-side object has the name that is asked for."""

from __future__ import annotations

import pytest
import requests

from tests.support.sandbox.service import Service


@pytest.mark.spec("EP6-03", "EP6-04")
@pytest.mark.parametrize(
    ("query", "name"), [("", "CheckoutClient"), ("?class=Brand", "Brand"), ("?class=$B_2", "$B_2")]
)
def test_the_class_has_its_name(service: Service, query: str, name: str) -> None:
    """In the page's own namespace, and in the messages of its errors; CheckoutClient where none is asked for."""
    answer = requests.get(f"{service.url}/client.js{query}", timeout=10)
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert f'window["{name}"] = ' in answer.text
    assert "CLIENT_CLASS" not in answer.text
    for member in ("renderPage(", "renderModal(", "closeModal("):
        assert member in answer.text
