"""Testing cases on the operator's page."""

from __future__ import annotations

import requests

from tests.support.sandbox.service import PROJECT, Service


def test_testing_cases_are_run_for_a_project_of_the_sandbox(service: Service) -> None:
    """The form offers each project by its identifier."""
    html = requests.get(f"{service.url}/_sandbox/", timeout=10).text
    form = html.partition('action="/_sandbox/operator/testing"')[2].partition("</form>")[0]
    assert f'value="{PROJECT}"' in form
