"""Names of locales, as shops have them, in the forms that the service takes."""

from __future__ import annotations

import pytest
from django.conf.global_settings import LANGUAGES
from django.utils.translation import to_locale
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.policy.locale import locale_of_order, locale_of_token
from checkout_integration.protocol.creation_values import Checks


@pytest.mark.spec("EP1-09", "EP2-13")
@pytest.mark.parametrize(
    ("name", "order", "token"),
    [
        ("de-DE", "de-DE", "de-DE"),
        ("zh-Hans-CN", "zh-Hans-CN", "zh-Hans-CN"),
        ("es-419", "es-419", "es-419"),
        ("pt-br", "pt-br", "pt-br"),
        ("fr", "fr", None),
        ("en_US", "en-US", "en-US"),
        ("en_US.UTF-8", "en-US", "en-US"),
        ("zh-hans", "zh-Hans-CN", "zh-hans"),
        ("zh_Hant", "zh-Hant-TW", "zh-Hant-TW"),
        ("sr-latn", "sr-Latn-RS", "sr-latn"),
        ("uz-cyrl", "uz", "uz-cyrl"),
        ("ca-ES-valencia", "ca-ES", "ca-ES-valencia"),
        ("hsb", None, None),
        ("", None, None),
        (None, None, None),
        ("de-DE,en;q=0.8", "de-DE,en;q=0.8", "de-DE,en;q=0.8"),
        ("German", "German", "German"),
    ],
)
def test_each_kind_of_name(name: str | None, order: str | None, token: str | None) -> None:
    """As it is where the service takes it, else translated, else left out; what is no name is left to the rules."""
    assert (locale_of_order(name) or None, locale_of_token(name) or None) == (order, token)


@pytest.mark.spec("EP1-09", "EP2-13")
@pytest.mark.parametrize("code", [code for code, _ in LANGUAGES])
def test_no_language_of_django_is_refused(code: str) -> None:
    """Neither as Django writes it in settings, nor as its catalogues are called; the language is never another one."""
    for name in (code, to_locale(code)):
        for translate, rule in (
            (locale_of_order, Checks.order_locale),
            (locale_of_token, Checks.token_locale),
        ):
            form, checks = translate(name), Checks()
            rule(checks, "locale", form)
            assert checks.problems == []
            assert form is None or form.replace("_", "-").partition("-")[0] == code.partition("-")[0]


@given(st.text(max_size=12) | st.from_regex(r"[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{2,4}){0,3}", fullmatch=True))
def test_a_translation_is_taken_or_the_name_is_what_it_was(name: str) -> None:
    """Nothing is made up of a text that is no name, and each translation obeys its rule."""
    for translate, rule in ((locale_of_order, Checks.order_locale), (locale_of_token, Checks.token_locale)):
        form, checks = translate(name), Checks()
        rule(checks, "locale", form)
        assert form == name or form is None or checks.problems == []
