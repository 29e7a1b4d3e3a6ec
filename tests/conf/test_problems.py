"""What is wrong with the setting as it is written: each problem names the setting and the mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.conf.problems import OWN_NAMES, PROJECT_NAMES, Problem, problems
from checkout_integration.conf.shapes import SHAPES

CANARY = "canary-secret-key-0123456789"
OWN: dict[str, Any] = {"PROJECT_ID": "p", "SECRET_KEY": CANARY}
GOOD: dict[str, Any] = {
    "PROJECTS": {"default": OWN},
    "BASE_URL": "https://service.invalid",
    "CHECKOUT_URL": "https://checkout.invalid/path",
}
MISSING = object()


def found(raw: object) -> list[Problem]:
    """Everything that is wrong."""
    return list(problems(raw))


def with_shared(**changes: Any) -> dict[str, Any]:
    """The good setting with these names beside PROJECTS; MISSING takes one away."""
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not MISSING}


def with_own(**changes: Any) -> dict[str, Any]:
    """The good setting with these names in the project."""
    return with_shared(
        PROJECTS={"default": {k: v for k, v in {**OWN, **changes}.items() if v is not MISSING}}
    )


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


@pytest.mark.parametrize("own", [None, [], "text", CANARY, 5])
def test_a_project_is_a_dict(own: object) -> None:
    """And the message does not repeat what was written there: it may be a secret."""
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
        (with_own(RECEIVERS_RUN="celery"), "RECEIVERS_RUN", "Set RECEIVERS_RUN beside PROJECTS"),
        (with_shared(ALIAS="x"), "ALIAS", "Remove it. Known are: ACCEPT_TEST_PAYMENTS, "),
        (dict[Any, Any](GOOD) | {5: "x"}, "5", "Remove it."),
    ],
)
def test_an_unknown_key_is_answered_with_the_one_that_was_meant(raw: object, name: str, hint: str) -> None:
    """A misspelt setting would be ignored in silence."""
    (problem,) = found(raw)
    assert problem.id == "checkout_integration.E003"
    assert name in problem.message and problem.hint.startswith(hint)
    assert CANARY not in problem.message + problem.hint


WRONG: list[tuple[str, list[object]]] = [
    ("RECEIVERS_RUN", ["thread", "", None, ["celery"], True]),
    ("UNBOUND_ORDERS", ["reject", "Accept", None, {"accept"}, True]),
    ("LIST_ARRAY_STYLE", ["comma", None, 5]),
    ("SIGNATURE_ENCODINGS", ["hex", [], (), ["hexadecimal"], [["hex"]], [None], None, 5, {"hex"}]),
    ("VALIDATE_REFUSE_STATUS", [399, 500, 200, 403.0, "403", None, True]),
    ("LIST_PAGE_SIZE", [1, 0, 1001, "100", 100.0, None, True]),
    ("RETRY_INTERVAL", [-1, 604801, "600", 600.0, None, True]),
    ("LIST_MARGIN", [-1, "900", 900.5, None, False]),
    ("TIMEOUT", ["fast", "30", 0, -1, None, True, float("nan"), float("inf"), 3601]),
    ("ACCEPT_TEST_PAYMENTS", ["False", "", 0, 1, None]),
    ("DYNAMIC_URLS", ["True", 1, None]),
    ("ALLOW_HTTP_LOOPBACK", ["no", 0, None]),
    ("LIST_END_PARAMETER", ["", "a b", "a=b", "a&b", None, 5]),
    ("CLIENT_CLASS", ["", "1x", "x;alert(1)", "a-b", None]),
    ("VERSION_HEADER", ["", "x y", "x:y", "x\ny", None]),
    ("API_VERSION", ["", "1 0", "1.0\r\n", 1.0, None]),
    ("REFERENCE_KEY", ["", "x" * 256, "schl\xfcssel", "a\nb", None, 5]),
    (
        "RETURN_URL",
        [
            "paid",
            "/paid/",
            "javascript:alert(1)",
            "https://",
            "https://[",
            "https://shop.invalid/\n",
            None,
            5,
        ],
    ),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG for value in values])
def test_a_value_of_the_wrong_shape_is_named(name: str, value: object) -> None:
    """Text where a number is meant is the usual cause: environment variables are text."""
    own = [with_own(**{name: value})] if name in PROJECT_NAMES else []
    for raw in (with_shared(**{name: value}), *own):
        (problem,) = found(raw)
        assert problem.id == "checkout_integration.E004"
        assert problem.message.startswith(f"{name} of CHECKOUT_INTEGRATION")
        assert problem.hint == f"Set {name} to {SHAPES[name].mend}."


RIGHT: dict[str, list[object]] = {
    "RECEIVERS_RUN": ["request", "celery", "worker"],
    "UNBOUND_ORDERS": ["review", "accept"],
    "LIST_ARRAY_STYLE": ["brackets", "plain"],
    "SIGNATURE_ENCODINGS": [["hex"], ("base64", "hex")],
    "VALIDATE_REFUSE_STATUS": [400, 403, 499],
    "LIST_PAGE_SIZE": [2, 100, 1000],
    "RETRY_INTERVAL": [0, 600],
    "LIST_MARGIN": [0, 900],
    "TIMEOUT": [1, 0.5, 30.0],
    "ACCEPT_TEST_PAYMENTS": [True, False],
    "DYNAMIC_URLS": [True, False],
    "ALLOW_HTTP_LOOPBACK": [True, False],
    "LIST_END_PARAMETER": ["project_date_to", "date[to]"],
    "CLIENT_CLASS": ["CheckoutClient", "window.Checkout", "$c"],
    "VERSION_HEADER": ["x-service-api-version"],
    "API_VERSION": ["1.0", "2024-05-01"],
    "REFERENCE_KEY": ["checkout_reference", "my ref"],
    "RETURN_URL": ["", "https://shop.invalid/paid/{reference}/", "http://127.0.0.1:8000/paid/"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in RIGHT.items() for value in values]
)
def test_a_value_of_the_right_shape_is_accepted(name: str, value: object) -> None:
    """The defaults are among them."""
    assert found(with_shared(**{name: value})) == []


def test_every_setting_is_looked_at() -> None:
    """A new setting gets a shape, or a rule of its own here."""
    addresses = {"BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL"}
    assert set(SHAPES) | addresses | OWN_NAMES | {"HOOKS"} == PROJECT_NAMES | {"RECEIVERS_RUN"}


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
    """It is asked at each use; the verification refuses an empty answer by itself."""
    assert found(with_own(SECRET_KEY=lambda: "", PREVIOUS_SECRET_KEYS=[lambda: ""])) == []


@pytest.mark.parametrize("previous", [True, False])
def test_two_projects_do_not_share_a_secret(previous: bool) -> None:
    """G9: a notification is told apart by its signature only."""
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


@pytest.mark.parametrize("name", ["ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL"])
def test_other_addresses_may_be_left_out_and_are_https_else(name: str) -> None:
    """They are needed for some journeys only."""
    assert found(with_shared(**{name: ""})) == found(with_shared(**{name: None})) == []
    assert found(with_shared(**{name: "https://service.invalid/x"})) == []
    (problem,) = found(with_shared(**{name: "http://service.invalid/x"}))
    assert problem.id == "checkout_integration.E007" and name in problem.message


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


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:8080"])
def test_plain_http_to_this_machine_may_be_allowed(host: str) -> None:
    """For the sandbox, by a setting."""
    addresses = {"BASE_URL": f"http://{host}", "CHECKOUT_URL": f"http://{host}"}
    assert {each.id for each in found(with_shared(**addresses))} == {"checkout_integration.E007"}
    assert found(with_shared(**addresses, ALLOW_HTTP_LOOPBACK=True)) == []


def test_plain_http_elsewhere_is_never_allowed() -> None:
    """Nor by a text that looks like true."""
    (problem,) = found(with_shared(BASE_URL="http://service.invalid", ALLOW_HTTP_LOOPBACK=True))
    assert problem.id == "checkout_integration.E007"
    loopback = with_shared(BASE_URL="http://127.0.0.1", ALLOW_HTTP_LOOPBACK="False")
    assert [each.id for each in found(loopback)] == ["checkout_integration.E004", "checkout_integration.E007"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("shop.no_such_module.Hooks", "cannot be imported: No module named"),
        ("checkout_integration.hooks.NoHooks", "cannot be imported"),
        ("nodots", "cannot be imported"),
        ("", "cannot be imported"),
        ("tests.conf.broken.Hooks", "cannot be imported: ZeroDivisionError"),
        ("checkout_integration.hooks.load_hooks", "is not a class"),
        (None, "is not a class"),
        (5, "is not a class"),
    ],
)
def test_hooks_are_the_dotted_path_of_a_class(path: object, why: str) -> None:
    """Whatever the shop's module does when it is imported."""
    (problem,) = found(with_shared(HOOKS=path))
    assert problem.id == "checkout_integration.E008"
    assert problem.message.startswith("HOOKS of CHECKOUT_INTEGRATION") and why in problem.message
    assert "dotted path of a subclass of checkout_integration.hooks.Hooks" in problem.hint


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
NAMES = st.sampled_from(sorted(PROJECT_NAMES | {"PROJECTS", "RECEIVERS_RUN"}))


@given(st.dictionaries(NAMES, ANYTHING), st.dictionaries(NAMES, ANYTHING))
def test_no_value_crashes_the_check(shared: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Whatever is written, the answer is sentences."""
    for raw in (shared, {**GOOD, **shared}, {**GOOD, "PROJECTS": {"default": {**OWN, **own}}}):
        for problem in problems(raw):
            assert problem.id.startswith("checkout_integration.E") and problem.message and problem.hint
