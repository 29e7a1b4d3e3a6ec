"""Problems of the setting as it is written: each names the setting and the correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.conf import app_settings
from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES, problems, secret_problems
from tests.support.conf.written_settings import CANARY, GOOD, MISSING, OWN, found, with_own, with_shared


def test_a_good_setting_has_no_problem() -> None:
    """As the README writes it."""
    assert found(GOOD) == []


@pytest.mark.parametrize(
    "raw", [None, {}, [], "text", {"PROJECTS": {}}, {"PROJECTS": None}, {"PROJECTS": [OWN]}]
)
def test_there_are_projects(raw: object) -> None:
    """Without any there is nothing to read."""
    (problem,) = found(raw)
    assert problem.id == "checkout_integration.E001"
    assert "PROJECTS" in problem.message and '"PROJECT_ID"' in problem.hint


@pytest.mark.parametrize("projects", [lambda: {"default": OWN}, [OWN], CANARY])
def test_projects_that_are_no_mapping_are_said_to_be_there(projects: object) -> None:
    """As for a platform that has its merchants in a database: "no PROJECTS" would be wrong. No value is repeated."""
    (problem,) = found(with_shared(PROJECTS=projects))
    assert (
        f"PROJECTS of CHECKOUT_INTEGRATION is a {type(projects).__name__} and no mapping" in problem.message
    )
    assert CANARY not in problem.message


@pytest.mark.parametrize("own", [None, [], "text", CANARY, 5])
def test_a_project_is_a_dict(own: object) -> None:
    """The message does not repeat the value: it may be a secret."""
    (problem,) = found(with_shared(PROJECTS={"default": own}))
    assert problem.id == "checkout_integration.E001"
    assert "'default'" in problem.message and CANARY not in problem.message


@pytest.mark.parametrize("name", ["PROJECT_ID", "SECRET_KEY"])
def test_a_projects_own_name_is_missing(name: str) -> None:
    """It can only stand in the project."""
    (problem,) = found(with_own(**{name: MISSING}))
    assert (problem.id, problem.hint) == ("checkout_integration.E002", f"Set {name} there.")
    assert problem.message == f"""CHECKOUT_INTEGRATION["PROJECTS"]['default'] has no {name}."""


@pytest.mark.parametrize("name", ["BASE_URL", "CHECKOUT_URL"])
def test_an_address_is_missing(name: str) -> None:
    """It may stand in the project or beside PROJECTS."""
    (problem,) = found(with_shared(**{name: MISSING}))
    assert problem.id == "checkout_integration.E002"
    assert problem.message.endswith(f"has no {name}.")
    assert problem.hint == f"Set {name} there or in CHECKOUT_INTEGRATION."
    assert found(with_shared(**{name: MISSING, "PROJECTS": {"default": {**OWN, name: GOOD[name]}}})) == []


@pytest.mark.parametrize("value", ["", "  ", None, 5])
def test_the_project_id_is_text(value: object) -> None:
    """An environment variable that is not set is the usual cause."""
    (problem,) = found(with_own(PROJECT_ID=value))
    assert problem.id == "checkout_integration.E002"
    assert "PROJECT_ID" in problem.message and "PROJECT_ID" in problem.hint


@pytest.mark.parametrize(
    ("raw", "name", "hint"),
    [
        (with_shared(BASE_ULR="x"), "BASE_ULR", "Did you mean BASE_URL?"),
        (with_shared(unbound_orders="accept"), "unbound_orders", "Did you mean UNBOUND_ORDERS?"),
        (with_own(PREVIOUS_SECRETS=[]), "PREVIOUS_SECRETS", "Did you mean PREVIOUS_SECRET_KEYS?"),
        (with_shared(SECRET_KEY=CANARY), "SECRET_KEY", "Set SECRET_KEY in each project of PROJECTS"),
        (with_shared(PROJECT_ID="p"), "PROJECT_ID", "Set PROJECT_ID in each project of PROJECTS"),
        (with_own(RUNNER="celery"), "RUNNER", "Set RUNNER beside PROJECTS"),
        (with_shared(ALIAS="x"), "ALIAS", "Remove it. Known are: ABANDONED_AFTER, "),
        (dict[Any, Any](GOOD) | {5: "x"}, "5", "Remove it."),
    ],
)
def test_an_unknown_key_is_answered_with_the_one_that_was_meant(raw: object, name: str, hint: str) -> None:
    """A misspelt setting would be ignored in silence."""
    (problem,) = found(raw)
    assert problem.id == "checkout_integration.E003"
    assert name in problem.message and problem.hint.startswith(hint)
    assert CANARY not in problem.message + problem.hint


BAD_SECRETS: list[object] = [
    "",
    " ",
    " " * 40,
    "short",
    "fifteen-letters",
    None,
    5,
    b"bytes-are-not-text-at-all",
    ["x" * 40],
]


@pytest.mark.parametrize("secret", BAD_SECRETS)
def test_an_empty_or_short_secret_is_refused(secret: object) -> None:
    """Anyone could sign with it; in every place of the list."""
    for name, raw in (
        ("SECRET_KEY", with_own(SECRET_KEY=secret)),
        ("PREVIOUS_SECRET_KEYS", with_own(PREVIOUS_SECRET_KEYS=["x" * 40, secret])),
    ):
        (problem,) = found(raw)
        assert problem.id == "checkout_integration.E005"
        assert name in problem.message and name in problem.hint


@pytest.mark.spec("AUT-02")
@pytest.mark.parametrize(
    "secret",
    ["canary-schl\xfcssel-0123456789", "canary-line-break-0123456789\n", "canary\tsecret-0123456789"],
)
def test_a_secret_that_no_header_can_carry_is_refused(secret: str) -> None:
    """A line break at the end of a file is the usual cause."""
    (problem,) = found(with_own(SECRET_KEY=secret))
    assert problem.id == "checkout_integration.E005"
    assert "canary" not in problem.message + problem.hint


@pytest.mark.parametrize("value", [CANARY, None, 5, {CANARY}])
def test_previous_secrets_are_a_list(value: object) -> None:
    """A single text is not taken for a list of characters."""
    others = {
        "other": {"PROJECT_ID": "o", "SECRET_KEY": "another-secret-0123456789", "PREVIOUS_SECRET_KEYS": value}
    }
    (problem,) = found(with_shared(PROJECTS={"default": OWN, **others}))
    assert problem.id == "checkout_integration.E005"
    assert "PREVIOUS_SECRET_KEYS" in problem.message and "list" in problem.hint
    assert "canary" not in problem.message + problem.hint


def test_a_callable_is_a_secret() -> None:
    """It is called at each use; the verification refuses an empty secret by itself."""
    assert found(with_own(SECRET_KEY=lambda: "", PREVIOUS_SECRET_KEYS=[lambda: ""])) == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "is empty, blank or shorter than 16 characters"),
        (" " * 40, "is empty, blank or shorter"),
        ("canary-short", "is empty, blank or shorter"),
        ("canary-line\nbreak-0123456789", "has characters that a header cannot carry"),
        (" canary-blank-before-0123456789", "begins or ends with a blank"),
        ("canary-blank-behind-0123456789 ", "begins or ends with a blank"),
        (None, "could not be read: TypeError"),
    ],
)
@pytest.mark.parametrize("name", ["SECRET_KEY", "PREVIOUS_SECRET_KEYS"])
def test_the_secret_that_a_callable_returns_is_checked(
    settings: Any, name: str, answer: Any, why: str
) -> None:
    """By the same rules as a literal secret, and without showing it."""
    source = (lambda: answer) if name == "SECRET_KEY" else [lambda: answer]
    settings.CHECKOUT_INTEGRATION = with_own(**{name: source})
    (problem,) = secret_problems(app_settings().project())
    assert problem.id == "checkout_integration.E005"
    assert why in problem.message and name in problem.message + problem.hint
    assert "canary" not in problem.message + problem.hint


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_end_of_a_mounted_file_is_no_part_of_the_secret(settings: Any, end: str) -> None:
    """Of a callable's value; a text that is written down is not corrected silently."""
    settings.CHECKOUT_INTEGRATION = with_own(
        SECRET_KEY=lambda: CANARY + end, PREVIOUS_SECRET_KEYS=[lambda: "another-secret-0123456789" + end]
    )
    project = app_settings().project()
    assert [secret.reveal() for secret in project.secrets] == [CANARY, "another-secret-0123456789"]
    assert list(secret_problems(project)) == [] and project.secrets_with_line_end
    assert [each.id for each in found(with_own(SECRET_KEY=CANARY + end))] == ["checkout_integration.E005"]


@pytest.mark.spec("AUT-04")
@pytest.mark.parametrize("previous", [True, False])
def test_two_projects_do_not_share_a_secret(previous: bool) -> None:
    """The signature alone identifies the project of a notification."""
    mine = (
        {"SECRET_KEY": "another-secret-0123456789", "PREVIOUS_SECRET_KEYS": [CANARY]}
        if previous
        else {"SECRET_KEY": CANARY}
    )
    (problem,) = found(with_shared(PROJECTS={"default": OWN, "other": {"PROJECT_ID": "o", **mine}}))
    assert problem.id == "checkout_integration.E006"
    assert "'default' and 'other'" in problem.message and "SECRET_KEY" in problem.hint
    assert "canary" not in problem.message + problem.hint


def test_a_project_may_repeat_its_own_secret() -> None:
    """After a rotation that was taken back."""
    assert found(with_own(PREVIOUS_SECRET_KEYS=[CANARY])) == []


INSECURE: list[object] = [
    "http://service.invalid",
    "service.invalid",
    "//service.invalid",
    "ftp://service.invalid",
    "https://",
    "https:///path",
    "https://[",
    "https://user:canary@service.invalid",
    "https://@service.invalid",
    "https://service.invalid:99999",
    "https://service.invalid:0",
    "https://service.invalid:port",
    "https://service .invalid",
    "https://service.invalid\n",
    "\thttps://service.invalid",
    None,
    5,
    "",
]


@pytest.mark.spec("AUT-01")
@pytest.mark.parametrize("name", ["BASE_URL", "CHECKOUT_URL"])
@pytest.mark.parametrize("address", INSECURE)
def test_an_address_is_https(name: str, address: object) -> None:
    """Plain HTTP would show the secret key; user names and odd characters lead elsewhere."""
    (problem,) = found(with_shared(**{name: address}))
    assert problem.id == "checkout_integration.E007"
    assert name in problem.message and f"Set {name} to an https:// address" in problem.hint
    assert "canary" not in problem.message + problem.hint


@pytest.mark.spec("AUT-01")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://...", "its host is neither a name in ASCII nor an IP address"),
        ("https://sch\xf6n.invalid", "its host is neither"),
        ("https://[canary", "its host is neither"),
        ("https://service.invalid:99999", "its port is not a number from 1 to 65535"),
        ("https://service.invalid:canary", "its port is not"),
        ("https://user:canary@service.invalid", "it has a user name or a password"),
        ("https://user:canary@...:99999", "it has a user name or a password"),
        (" https://service.invalid", "it has a blank"),
        ("https://service.invalid\n", "it has a blank"),
        ("http://service.invalid", "it does not begin with https://"),
        ("canary.invalid", "it does not begin with https:// and the name of a host"),
        ("https://", "it does not begin with https:// and the name of a host"),
        ("", "it is empty"),
        (None, "it is not text"),
    ],
)
def test_a_refused_address_has_a_reason(address: object, why: str) -> None:
    """The message shows no part of the address."""
    (problem,) = found(with_shared(BASE_URL=address))
    assert problem.message.startswith("BASE_URL of") and f"cannot be used: {why}" in problem.message
    assert "canary" not in problem.message + problem.hint


@pytest.mark.spec("AUT-01", "SVC-05")
@pytest.mark.parametrize("name", ["ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL"])
def test_other_addresses_may_be_left_out_and_are_https_else(name: str) -> None:
    """They are needed for some journeys only."""
    assert found(with_shared(**{name: ""})) == []
    assert found(with_shared(**{name: "https://service.invalid/x"})) == []
    (problem,) = found(with_shared(**{name: "http://service.invalid/x"}))
    assert problem.id == "checkout_integration.E007" and name in problem.message


@pytest.mark.parametrize("name", sorted(PROJECT_NAMES))
def test_no_setting_takes_none(name: str) -> None:
    """Unset settings are left out; None would break the first page or call that needs it."""
    (problem,) = found(with_own(**{name: None}))
    assert name in problem.message


@pytest.mark.spec("EP1-01", "EP2-01")
@pytest.mark.parametrize("name", ["BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL", "LIST_URL"])
@pytest.mark.parametrize("end", ["?", "?x=1", "#top"])
def test_an_address_that_a_path_is_appended_to_has_no_query(name: str, end: str) -> None:
    """The client would refuse it when the first customer pays."""
    (problem,) = found(with_shared(**{name: f"https://service.invalid/api{end}"}))
    assert problem.id == "checkout_integration.E007"
    assert name in problem.message and "without ? and #" in problem.hint


def test_a_script_may_have_a_query() -> None:
    """Nothing is appended to it."""
    assert found(with_shared(CLIENT_SCRIPT_URL="https://service.invalid/client.js?v=2")) == []


@pytest.mark.spec("AUT-01", "SVC-05")
@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:8080"])
def test_plain_http_to_this_machine_may_be_allowed(host: str) -> None:
    """For the sandbox, by a setting."""
    addresses = {"BASE_URL": f"http://{host}", "CHECKOUT_URL": f"http://{host}"}
    assert {each.id for each in found(with_shared(**addresses))} == {"checkout_integration.E007"}
    assert found(with_shared(**addresses, ALLOW_HTTP_LOOPBACK=True)) == []


@pytest.mark.spec("AUT-01", "SVC-05")
def test_plain_http_elsewhere_is_never_allowed() -> None:
    """Nor by a text that looks like true."""
    (problem,) = found(with_shared(BASE_URL="http://service.invalid", ALLOW_HTTP_LOOPBACK=True))
    assert problem.id == "checkout_integration.E007"
    loopback = with_shared(BASE_URL="http://127.0.0.1", ALLOW_HTTP_LOOPBACK="False")
    assert [each.id for each in found(loopback)] == ["checkout_integration.E004", "checkout_integration.E007"]


@pytest.mark.parametrize(
    ("debug", "key", "is_allowed"),
    [
        (True, CANARY, True),
        (True, lambda: CANARY, True),
        (False, "sandbox_key_0123456789", True),
        (False, CANARY, False),
        (False, lambda: "sandbox_key_0123456789", False),
    ],
)
def test_named_hosts_may_be_plain_http_where_no_real_key_goes_there(
    settings: Any, debug: bool, key: object, is_allowed: bool
) -> None:
    """As a container's name is, in development. The host alone, exactly."""
    settings.DEBUG = debug
    address = {"BASE_URL": "http://sandbox:8090", "ALLOW_HTTP_HOSTS": ["sandbox"]}
    raw = with_own(SECRET_KEY=key) | address
    assert [each.id for each in found(raw)] == [] if is_allowed else ["checkout_integration.E007"]
    settings.CHECKOUT_INTEGRATION = {**raw, "BASE_URL": "https://service.invalid"}
    assert app_settings().project().allow_http_hosts == (("sandbox",) if is_allowed else ())
    for other in (
        "http://sandbox.evil.example",
        "http://other:8090",
        "http://sandbox@other",
        "ftp://sandbox",
    ):
        assert [each.id for each in found({**raw, "BASE_URL": other})] == ["checkout_integration.E007"]


@pytest.mark.parametrize("alias", ["default", "shop-2", "a.b_c~d", "7", "x" * 64])
def test_an_alias_can_stand_in_an_address(alias: str) -> None:
    """It is a part of the webhook's address."""
    assert found(with_shared(PROJECTS={alias: OWN})) == []


@pytest.mark.parametrize(
    "alias", ["", "a/b", "a b", "..", ".", "a?b", "a%2Fb", "sch\xf6n", "x" * 65, "a\n", 5, None]
)
def test_an_alias_that_cannot_stand_in_an_address_is_refused(alias: object) -> None:
    """No notification would ever reach its project."""
    (problem,) = found(with_shared(PROJECTS={alias: OWN}))
    assert problem.id == "checkout_integration.E011"
    assert repr(alias) in problem.message and "letters, digits" in problem.hint


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers())
    ),
    max_leaves=5,
)
NAMES = st.sampled_from(sorted(PROJECT_NAMES | APP_NAMES))


@pytest.mark.slow
@given(st.dictionaries(NAMES, ANYTHING), st.dictionaries(NAMES, ANYTHING))
def test_no_value_crashes_the_check(shared: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Any value gives problems, never an exception."""
    for raw in (shared, {**GOOD, **shared}, {**GOOD, "PROJECTS": {"default": {**OWN, **own}}}):
        for problem in problems(raw):
            assert problem.id.startswith("checkout_integration.E") and problem.message and problem.hint
