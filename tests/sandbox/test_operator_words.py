"""What the operator's pages offer and say."""

from __future__ import annotations

import requests

from tests.sandbox.service import PROJECT, Service


def test_an_unknown_project_is_told(service: Service) -> None:
    """A page of its own with 404, and the way back."""
    answer = requests.get(f"{service.url}/_sandbox/operator/project/nobody", timeout=10)
    assert answer.status_code == 404
    assert "No such project" in answer.text
    assert "It is not one of this sandbox." in answer.text


def test_testing_cases_are_run_for_a_project_of_the_sandbox(service: Service) -> None:
    """The form offers each project by its identifier."""
    html = requests.get(f"{service.url}/_sandbox/", timeout=10).text
    form = html.partition('action="/_sandbox/operator/testing"')[2].partition("</form>")[0]
    assert f'value="{PROJECT}"' in form
