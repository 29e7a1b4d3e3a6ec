"""The content policy that the shop's middleware sends, and the check that warns if the form would not be shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import CheckMessage

from checkout_integration.checks import check_content_policy
from checkout_integration.display import merge_csp

DJANGO, DJANGO_CSP = "django.middleware.csp.ContentSecurityPolicyMiddleware", "csp.middleware.CSPMiddleware"
FORM = "https://form.example/pay"
NARROW: dict[str, Any] = {"default-src": ["'self'"]}


@pytest.fixture(autouse=True)
def _form(settings: Any) -> None:
    """A project that shows its form."""
    addresses = {"ORDER_FORM_URL": FORM, "CLIENT_SCRIPT_URL": "", "CHECKOUT_URL": "https://form.example"}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, **addresses}
    settings.MIDDLEWARE = [DJANGO, DJANGO_CSP]


def found() -> list[CheckMessage]:
    """The messages of the check."""
    return check_content_policy(None)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("SECURE_CSP", NARROW, "SECURE_CSP"),
        ("CONTENT_SECURITY_POLICY", {"DIRECTIVES": NARROW}, 'CONTENT_SECURITY_POLICY["DIRECTIVES"]'),
        ("CONTENT_SECURITY_POLICY", {"EXCLUDE_URL_PREFIXES": ["/admin"]}, "CONTENT_SECURITY_POLICY"),
        ("CSP_DEFAULT_SRC", ("'self'",), "CSP_DEFAULT_SRC"),
    ],
)
def test_a_policy_without_the_form_is_reported(settings: Any, name: str, value: object, shown: str) -> None:
    """By Django, and by both forms of django-csp; the message says what is missing, the hint how to add it."""
    setattr(settings, name, value)
    (message,) = found()
    assert (message.id, message.msg.startswith(shown)) == ("checkout_integration.W014", True)
    assert "frame-src needs https://form.example" in message.msg
    assert "merge_csp" in str(message.hint)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECURE_CSP", merge_csp(NARROW, order_form_url=FORM)),
        ("SECURE_CSP", {}),
        ("SECURE_CSP_REPORT_ONLY", NARROW),
        ("CONTENT_SECURITY_POLICY", {"DIRECTIVES": merge_csp(NARROW, order_form_url=FORM)}),
        ("CONTENT_SECURITY_POLICY_REPORT_ONLY", {"DIRECTIVES": NARROW}),
        ("CSP_FRAME_SRC", ("https://form.example",)),
    ],
)
def test_a_policy_with_the_form_or_none_is_fine(settings: Any, name: str, value: object) -> None:
    """One that only reports stops nothing."""
    setattr(settings, name, value)
    assert found() == []


def test_old_settings_that_only_report_are_fine(settings: Any) -> None:
    """CSP_REPORT_ONLY of django-csp before 4.0."""
    settings.CSP_DEFAULT_SRC, settings.CSP_REPORT_ONLY = ("'self'",), True
    assert found() == []


def test_a_policy_that_nothing_sends_is_fine(settings: Any) -> None:
    """Without the middleware the setting does nothing; and without ORDER_FORM_URL nobody knows the form."""
    settings.SECURE_CSP, settings.MIDDLEWARE = NARROW, []
    assert found() == []
    settings.MIDDLEWARE = [DJANGO]
    assert len(found()) == 1
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "ORDER_FORM_URL": ""}
    assert found() == []
    settings.CHECKOUT_INTEGRATION = {}
    assert found() == []
