"""Reading the setting: several projects, secrets, overriding, and what never shows a secret."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from checkout_integration.conf import AppSettings, Project, app_settings
from checkout_integration.protocol.values import Secret

CANARY = "canary-secret-key-0123456789"
OLDER = "canary-older-key-0123456789"
SHARED = {
    "BASE_URL": "https://service.invalid",
    "CHECKOUT_URL": "https://checkout.invalid",
    "ORDER_FORM_URL": "https://form.invalid",
}


def configured(settings: Any, **projects: dict[str, Any]) -> AppSettings:
    """The settings with these projects."""
    settings.CHECKOUT_INTEGRATION = {**SHARED, "PROJECTS": projects}
    return app_settings()


def project(settings: Any, **own: Any) -> Project:
    """The project "default" with these settings of its own."""
    return configured(settings, default={"PROJECT_ID": "p", "SECRET_KEY": CANARY, **own}).project()


def test_a_project_has_the_defaults(settings: Any) -> None:
    """The safe ones: no unbound orders, no test payments, no plain HTTP."""
    defaults = project(settings)
    assert (defaults.alias, defaults.project_id, defaults.unbound_orders) == ("default", "p", "review")
    assert (defaults.accept_test_payments, defaults.allow_http_loopback, defaults.dynamic_urls) == (
        False,
        False,
        False,
    )
    assert (defaults.retry_delta, defaults.list_delta) == (timedelta(minutes=10), timedelta(minutes=15))
    assert defaults.list_url == defaults.base_url == "https://service.invalid"
    assert app_settings().runner == "request"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("api_version", "1.0", marks=pytest.mark.spec("VER-01", "VER-02", "VER-03")),
        pytest.param("version_header", "x-service-api-version", marks=pytest.mark.spec("VER-02")),
        pytest.param("client_class", "CheckoutClient", marks=pytest.mark.spec("EP6-03", "EP6-04")),
        pytest.param("signature_encodings", ("hex",), marks=pytest.mark.spec("AUT-07")),
        pytest.param("validate_refuse_status", 403, marks=pytest.mark.spec("EVT-11")),
        pytest.param("validate_budget", 3.0, marks=pytest.mark.spec("EVT-02")),
        pytest.param("validate_when_late", "refuse", marks=pytest.mark.spec("EVT-02")),
        pytest.param("retry_delta", timedelta(seconds=600), marks=pytest.mark.spec("EVT-12")),
        pytest.param("list_url", "https://service.invalid", marks=pytest.mark.spec("EP3-01")),
        pytest.param("list_page_size", 100, marks=pytest.mark.spec("EP3-10", "LIM-02")),
        pytest.param("list_end_parameter", "project_date_to", marks=pytest.mark.spec("EP3-08")),
        pytest.param("list_array_style", "brackets", marks=pytest.mark.spec("EP3-04", "EP3-05")),
        pytest.param("list_invoice_id", "reference", marks=pytest.mark.spec("EP3-09")),
        pytest.param(
            "credential_codes",
            ("co000005", "fm000048", "ma000022"),
            marks=pytest.mark.spec("AUT-05", "HTT-16"),
        ),
        pytest.param("dynamic_urls", False, marks=pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")),
        pytest.param("return_url", "", marks=pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")),
        pytest.param("reference_key", "checkout_reference", marks=pytest.mark.spec("EP1-22", "EP2-08")),
        pytest.param("accept_test_payments", False, marks=pytest.mark.spec("ORD-42", "WHK-04")),
        pytest.param("allow_http_loopback", False, marks=pytest.mark.spec("AUT-01", "SVC-05")),
        pytest.param("allow_http_hosts", (), marks=pytest.mark.spec("AUT-01", "SVC-05")),
    ],
)
def test_what_the_specification_leaves_open_has_a_default(settings: Any, name: str, value: object) -> None:
    """As the specification says it, and else as deployed services do; docs/open-questions.md says why."""
    assert getattr(project(settings), name) == value


def test_a_project_overrides_what_stands_beside_it(settings: Any) -> None:
    """A name beside PROJECTS is for all of them, until one says otherwise."""
    settings.CHECKOUT_INTEGRATION = {
        **SHARED,
        "UNBOUND_ORDERS": "accept",
        "RETRY_INTERVAL": 0,
        "PROJECTS": {
            "games": {"PROJECT_ID": "g", "SECRET_KEY": CANARY},
            "books": {
                "PROJECT_ID": "b",
                "SECRET_KEY": OLDER,
                "BASE_URL": "https://books.invalid",
                "UNBOUND_ORDERS": "review",
            },
        },
    }
    games, books = (app_settings().project(alias) for alias in ("games", "books"))
    assert (games.base_url, games.unbound_orders) == ("https://service.invalid", "accept")
    assert (books.base_url, books.unbound_orders) == ("https://books.invalid", "review")
    assert games.retry_delta == books.retry_delta == timedelta(0)
    assert books.list_url == "https://books.invalid"


def test_an_unknown_alias_is_a_key_error(settings: Any) -> None:
    """The webhook responds with 404 to it."""
    settings_now = configured(settings, default={"PROJECT_ID": "p", "SECRET_KEY": CANARY})
    with pytest.raises(KeyError):
        settings_now.project("other")


def test_lists_become_tuples(settings: Any) -> None:
    """A tuple cannot be changed by accident."""
    configured = project(settings, SIGNATURE_ENCODINGS=["hex", "base64"], PREVIOUS_SECRET_KEYS=[OLDER])
    assert configured.signature_encodings == ("hex", "base64")
    assert configured.previous_secret_keys == (OLDER,)


def test_secrets_are_given_with_the_current_one_first(settings: Any) -> None:
    """Requests are made with the first; notifications are accepted with any."""
    assert project(settings, PREVIOUS_SECRET_KEYS=[OLDER]).secrets == (Secret(CANARY), Secret(OLDER))


def test_callable_secrets_are_called_each_time(settings: Any) -> None:
    """A rotation needs no restart."""
    current = [CANARY]
    configured = project(settings, SECRET_KEY=lambda: current[0], PREVIOUS_SECRET_KEYS=(lambda: OLDER,))
    assert configured.secrets == (Secret(CANARY), Secret(OLDER))
    current[0] = "rotated-secret-key-0123456789"
    assert configured.secrets[0] == Secret("rotated-secret-key-0123456789")


def test_no_callable_is_called_while_the_settings_are_read(settings: Any) -> None:
    """A vault that is away must not stop the start."""

    def away() -> str:
        raise AssertionError("called too early")

    assert project(settings, SECRET_KEY=away, PREVIOUS_SECRET_KEYS=[away]).project_id == "p"


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{0!r}".format])
def test_a_secret_is_never_shown(settings: Any, show: Any) -> None:
    """Settings and projects may reach logs and error pages."""
    configured = project(settings, PREVIOUS_SECRET_KEYS=[OLDER])
    for each in (configured, app_settings(), configured.secrets):
        assert "canary" not in show(each)


def test_a_secret_is_not_written_anywhere(settings: Any) -> None:
    """A queue or a cache would keep it."""
    with pytest.raises(TypeError):
        pickle.dumps(project(settings).secrets[0])


def test_settings_are_read_once(settings: Any) -> None:
    """Every request uses them."""
    project(settings)
    assert app_settings() is app_settings()


def test_settings_are_dropped_when_a_test_changes_them(settings: Any) -> None:
    """By the fixture as well as by ``override_settings``, and again when it ends."""
    assert project(settings).retry_interval == 600
    changed = {**settings.CHECKOUT_INTEGRATION, "RETRY_INTERVAL": 5}
    with override_settings(CHECKOUT_INTEGRATION=changed):
        assert app_settings().project().retry_interval == 5
    assert app_settings().project().retry_interval == 600


def test_another_setting_drops_nothing(settings: Any) -> None:
    """Reading them is not free."""
    project(settings)
    before = app_settings()
    settings.LANGUAGE_CODE = "de"
    assert app_settings() is before


def test_settings_that_cannot_be_used_are_refused_by_name(settings: Any) -> None:
    """With the sentences of the system check, and without the secret."""
    with pytest.raises(ImproperlyConfigured, match=r"BASE_URL.*https://") as refused:
        project(settings, BASE_URL="http://service.invalid")
    assert "canary" not in str(refused.value)


def test_a_call_ends_before_a_web_server_loses_patience(settings: Any) -> None:
    """Gunicorn's limit is 30 s. A page of the list, for which nobody waits, may take three times as long."""
    assert project(settings).timeout == 10
    assert (project(settings, TIMEOUT=5).timeout, project(settings, TIMEOUT=5).page_timeout) == (5, 15)


def test_settings_that_are_mended_are_used(settings: Any) -> None:
    """A refusal is not remembered."""
    with pytest.raises(ImproperlyConfigured):
        project(settings, TIMEOUT="fast")
    assert project(settings, TIMEOUT=5).timeout == 5
