"""Room for the form in a content security policy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from checkout_integration.display import allow_form, merge_csp, missing_sources

FORM, SCRIPT, SERVICE = "https://form.example", "https://script.example:8443", "https://service.example"


def merged(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy with room for the form."""
    return merge_csp(
        policy,
        order_form_url=f"{FORM}/pay",
        client_script_url=f"{SCRIPT}/client.js",
        checkout_url=f"{SERVICE}/api",
    )


def test_every_directive_that_the_form_needs_gets_its_origins() -> None:
    """Frames from the form, the script from its own host, and calls of the service."""
    policy = {"frame-src": ["'self'"], "script-src": ["'self'"], "connect-src": ["'self'"], "img-src": ["*"]}
    assert merged(policy) == {
        "frame-src": ["'self'", FORM, SCRIPT],
        "script-src": ["'self'", SCRIPT],
        "connect-src": ["'self'", FORM, SCRIPT, SERVICE],
        "img-src": ["*"],
    }


def test_a_directive_that_is_missing_is_made_of_what_stood_in_for_it() -> None:
    """A bare frame-src would end what default-src allowed."""
    assert merged({"default-src": ["'self'", "https://cdn.example"]})["script-src"] == [
        "'self'",
        "https://cdn.example",
        SCRIPT,
    ]
    assert merged({"default-src": ["'self'"], "child-src": ["https://kid.example"]})["frame-src"] == [
        "https://kid.example",
        FORM,
        SCRIPT,
    ]


@pytest.mark.parametrize("nothing", [{}, {"img-src": ["'self'"]}, {"default-src": None, "frame-src": False}])
def test_a_policy_that_forbids_nothing_stays_as_it_is(nothing: dict[str, Any]) -> None:
    """To add a directive would forbid the rest."""
    assert merged(nothing) == nothing


def test_none_gives_way() -> None:
    """Beside a source it would be ignored, with a warning in each browser."""
    assert merged({"default-src": ["'none'"]})["frame-src"] == [FORM, SCRIPT]


@pytest.mark.parametrize("written", ["'self' data:", ("'self'", "data:")])
def test_sources_may_be_written_in_other_ways(written: Any) -> None:
    """As text with spaces, or as a tuple."""
    assert merged({"script-src": written})["script-src"] == ["'self'", "data:", SCRIPT]


def test_the_directive_for_elements_is_extended_where_a_policy_has_it() -> None:
    """Browsers ask it instead of script-src."""
    policy = {"script-src": ["'self'"], "script-src-elem": ["'self'"]}
    assert merged(policy)["script-src-elem"] == ["'self'", SCRIPT]
    assert "script-src-elem" not in merged({"script-src": ["'self'"]})


def test_a_form_of_the_shop_may_redirect_to_the_hosted_one() -> None:
    """Chromium checks form-action for the redirect, too; without the directive nothing was forbidden."""
    assert merged({"form-action": ["'self'"]})["form-action"] == ["'self'", FORM]
    assert "form-action" not in merged({"default-src": ["'self'"]})


def test_merging_twice_changes_nothing_and_never_the_given_policy() -> None:
    """Settings are shared between requests."""
    policy = {"default-src": ["'self'"]}
    once = merged(policy)
    assert merged(once) == once
    assert policy == {"default-src": ["'self'"]}


@pytest.mark.parametrize(
    "address", ["", "javascript:alert(1)", "https://x;script-src", "http://form.example"]
)
def test_what_is_no_safe_address_adds_nothing(address: str) -> None:
    """Neither a source nor a directive of its own."""
    assert merge_csp({"default-src": ["'self'"]}, order_form_url=address) == {"default-src": ["'self'"]}


def test_the_projects_addresses_are_those_of_the_settings(settings: Any) -> None:
    """One call for a view's policy."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "ORDER_FORM_URL": "http://127.0.0.1:8001/form",
    }
    assert allow_form({"frame-src": ["'self'"]})["frame-src"] == ["'self'", "http://127.0.0.1:8001"]


def test_a_settings_module_can_use_it() -> None:
    """Before there are settings and apps."""
    code = (
        "from checkout_integration.display import merge_csp;"
        "print(merge_csp({'frame-src': []}, order_form_url='https://form.example'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "{'frame-src': []}"


NEEDS = {"order_form_url": f"{FORM}/pay", "client_script_url": f"{SCRIPT}/client.js", "checkout_url": SERVICE}


@pytest.mark.parametrize(
    "sources",
    [
        [FORM, SCRIPT, SERVICE],
        ["form.example", "script.example:8443", "service.example"],
        ["https://*.example", SCRIPT],
        ["https:"],
        ["*"],
        [f"{FORM}/pay", f"{SCRIPT}/client.js", SERVICE],
        "'self' https: data:",
    ],
    ids=str,
)
def test_what_a_policy_allows_is_not_missing(sources: Any) -> None:
    """In each of the ways of writing it."""
    assert missing_sources({"default-src": sources}, **NEEDS) == {}
    assert missing_sources({"img-src": ["'none'"]}, **NEEDS) == {}


@pytest.mark.parametrize(
    "sources",
    [
        ["'self'"],
        ["'none'"],
        ["http://form.example", "https://script.example", "http:"],
        ["https://form.example.evil", "https://*.form.example", "https://*.script.example:8443"],
    ],
    ids=str,
)
def test_what_a_policy_does_not_allow_is_missing(sources: list[str]) -> None:
    """What the merge would add."""
    assert missing_sources({"default-src": sources, "form-action": sources}, **NEEDS) == {
        "frame-src": [FORM, SCRIPT],
        "script-src": [SCRIPT],
        "connect-src": [FORM, SCRIPT, SERVICE],
        "form-action": [FORM],
    }
    assert missing_sources(merge_csp({"default-src": sources}, **NEEDS), **NEEDS) == {}


def test_a_nonce_allows_scripts_and_nothing_else() -> None:
    """The tags put it on the form's script."""
    policy = {"default-src": ["'self'", "<CSP_NONCE_SENTINEL>"]}
    assert set(missing_sources(policy, **NEEDS)) == {"frame-src", "connect-src"}
