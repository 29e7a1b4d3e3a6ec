"""The operator's page of a project."""

from __future__ import annotations

import requests

from tests.support.sandbox.service import Service


def test_an_unknown_project_is_named(service: Service) -> None:
    """A page of its own with 404, and the way back."""
    answer = requests.get(f"{service.url}/_sandbox/operator/project/nobody", timeout=10)
    assert answer.status_code == 404
    assert "No such project" in answer.text
    assert "It is not one of this sandbox." in answer.text
