"""The rule of each setting's value."""

from __future__ import annotations

import pytest

from checkout_integration.conf.problems import APP_NAMES, OWN_NAMES, PROJECT_NAMES
from checkout_integration.conf.rules import PRUNABLE, RULES
from tests.support.conf.written_settings import found, with_own, with_shared

WRONG: list[tuple[str, list[object]]] = [
    ("RUNNER", ["thread", "", None, ["celery"], True]),
    ("ABANDONED_AFTER", ["24", None, -1, True, False, float("nan"), 721, [24]]),
    ("RECEIVER_DEADLINE", ["300", 0, -1, None, True, float("nan"), 86401]),
    ("RECEIVER_LIMIT", ["3600", 0, -1, None, True, float("nan"), 86401]),
    (
        "RETENTION",
        [None, 90, [], {"bodies": 90}, {"sync_runs": 6}, {"sync_runs": 3651}, {"sync_runs": "90"}, {5: 90}],
    ),
    ("LOG_EXCEPTION_MESSAGES", ["no", 0, 1, None]),
    ("UNBOUND_ORDERS", ["reject", "Accept", None, {"accept"}, True]),
    ("LIST_ARRAY_STYLE", ["comma", None, 5]),
    ("SIGNATURE_ENCODINGS", ["hex", [], (), ["hexadecimal"], [["hex"]], [None], None, 5, {"hex"}]),
    ("VALIDATE_REFUSE_STATUS", [399, 500, 200, 403.0, "403", None, True]),
    ("VALIDATE_BUDGET", ["3", 0, -1, None, True, float("nan"), 60.5]),
    ("VALIDATE_WHEN_LATE", ["deny", "", None, True]),
    ("LIST_PAGE_SIZE", [1, 0, 1001, "100", 100.0, None, True]),
    ("RETRY_INTERVAL", [-1, 604801, "600", 600.0, None, True]),
    ("LIST_MARGIN", [-1, "900", 900.5, None, False]),
    ("HISTORIC_MARGIN", [-1, "86400", 0.5, None, False]),
    ("TIMEOUT", ["fast", "30", 0, -1, None, True, float("nan"), float("inf"), 3601]),
    ("ACCEPT_TEST_PAYMENTS", ["False", "", 0, 1, None]),
    (
        "RETURN_CONTINUE_URL",
        ["", "shop/", "//elsewhere", "/\\elsewhere", "javascript:alert(1)", "/a\nb", None],
    ),
    ("CREDENTIAL_CODES", ["fm000048", [""], [48], None, {"fm000048"}]),
    ("LIST_INVOICE_ID", ["account", None, True]),
    ("DYNAMIC_URLS", ["True", 1, None, "orders"]),
    ("ALLOW_HTTP_LOOPBACK", ["no", 0, None]),
    (
        "ALLOW_HTTP_HOSTS",
        ["sandbox", [""], ["Sandbox"], ["sandbox:8090"], ["http://sandbox"], ["*"], [5], None],
    ),
    ("LIST_END_PARAMETER", ["", "a b", "a=b", "a&b", None, 5]),
    ("CLIENT_CLASS", ["", "1x", "x;alert(1)", "a-b", None]),
    ("VERSION_HEADER", ["", "x y", "x:y", "x\ny", None]),
    ("API_VERSION", ["", "1 0", "1.0\r\n", 1.0, None]),
    ("REFERENCE_KEY", ["", "x" * 256, "schl\xfcssel", "a\nb", None, 5]),
    (
        "ORDER_URL",
        [
            "https://service.invalid/orders/",
            "https://service.invalid/{order}/",
            "https://service.invalid/{order_id}/{order_id}/",
            "https://service.invalid/{order_id}/{project}/",
            "http://service.invalid/{order_id}/",
            "javascript:alert({order_id})",
            "/orders/{order_id}/",
            None,
            5,
        ],
    ),
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
        assert problem.hint == f"Set {name} to {RULES[name].hint}."


RIGHT: dict[str, list[object]] = {
    "RUNNER": ["request", "celery", "worker"],
    "ABANDONED_AFTER": [0, 0.5, 24, 720],
    "RECEIVER_DEADLINE": [0.5, 300, 86400],
    "RECEIVER_LIMIT": [0.5, 3600, 86400],
    "UNBOUND_ORDERS": ["review", "accept"],
    "LIST_ARRAY_STYLE": ["brackets", "plain"],
    "SIGNATURE_ENCODINGS": [["hex"], ("base64", "hex")],
    "CREDENTIAL_CODES": [[], ["fm000048"], ("bad_key", "E-17")],
    "LIST_INVOICE_ID": ["reference", ""],
    "VALIDATE_REFUSE_STATUS": [400, 403, 499],
    "VALIDATE_BUDGET": [0.5, 3, 60],
    "VALIDATE_WHEN_LATE": ["refuse", "approve"],
    "LIST_PAGE_SIZE": [2, 100, 1000],
    "RETRY_INTERVAL": [0, 600],
    "LIST_MARGIN": [0, 900],
    "HISTORIC_MARGIN": [0, 86400],
    "TIMEOUT": [1, 0.5, 30.0],
    "ACCEPT_TEST_PAYMENTS": [True, False],
    "DYNAMIC_URLS": [True, False, "tokens"],
    "ALLOW_HTTP_LOOPBACK": [True, False],
    "ALLOW_HTTP_HOSTS": [[], ["sandbox"], ("sandbox", "10.0.0.7", "sandbox.internal")],
    "LIST_END_PARAMETER": ["project_date_to", "date[to]"],
    "CLIENT_CLASS": ["CheckoutClient", "window.Checkout", "$c"],
    "VERSION_HEADER": ["x-service-api-version"],
    "API_VERSION": ["1.0", "2024-05-01"],
    "REFERENCE_KEY": ["checkout_reference", "my ref"],
    "RETURN_CONTINUE_URL": ["/", "/shop/?from=checkout", "https://shop.invalid/"],
    "RETENTION": [{}, {"outbox_messages": 7}, dict.fromkeys(PRUNABLE, 3650)],
    "ORDER_URL": [
        "",
        "https://service.invalid/orders/{order_id}",
        "http://127.0.0.1:8090/?id={order_id}&x=1",
    ],
    "RETURN_URL": ["", "https://shop.invalid/paid/{reference}/", "http://127.0.0.1:8000/paid/"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in RIGHT.items() for value in values]
)
def test_a_value_of_the_right_shape_is_accepted(name: str, value: object) -> None:
    """The defaults are among them."""
    assert found(with_shared(**{name: value})) == []


OPEN = [
    pytest.param("SIGNATURE_ENCODINGS", marks=pytest.mark.spec("AUT-07")),
    pytest.param("VALIDATE_REFUSE_STATUS", marks=pytest.mark.spec("EVT-11")),
    pytest.param("VALIDATE_BUDGET", marks=pytest.mark.spec("EVT-02")),
    pytest.param("VALIDATE_WHEN_LATE", marks=pytest.mark.spec("EVT-02")),
    pytest.param("RETRY_INTERVAL", marks=pytest.mark.spec("EVT-12")),
    pytest.param("LIST_PAGE_SIZE", marks=pytest.mark.spec("EP3-10", "LIM-02")),
    pytest.param("LIST_END_PARAMETER", marks=pytest.mark.spec("EP3-08")),
    pytest.param("LIST_ARRAY_STYLE", marks=pytest.mark.spec("EP3-04", "EP3-05")),
    pytest.param("LIST_INVOICE_ID", marks=pytest.mark.spec("EP3-09")),
    pytest.param("CREDENTIAL_CODES", marks=pytest.mark.spec("AUT-05", "HTT-16")),
    pytest.param("DYNAMIC_URLS", marks=pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")),
    pytest.param("RETURN_URL", marks=pytest.mark.spec("EP1-13", "EP2-09", "EP2-10")),
    pytest.param("CLIENT_CLASS", marks=pytest.mark.spec("EP6-03", "EP6-04")),
    pytest.param("VERSION_HEADER", marks=pytest.mark.spec("VER-02")),
    pytest.param("API_VERSION", marks=pytest.mark.spec("VER-01", "VER-02", "VER-03")),
    pytest.param("REFERENCE_KEY", marks=pytest.mark.spec("EP1-22", "EP2-08", "ORD-32")),
    pytest.param("ACCEPT_TEST_PAYMENTS", marks=pytest.mark.spec("ORD-42")),
    pytest.param("ALLOW_HTTP_LOOPBACK", marks=pytest.mark.spec("AUT-01", "SVC-05")),
    pytest.param("ALLOW_HTTP_HOSTS", marks=pytest.mark.spec("AUT-01", "SVC-05")),
]


@pytest.mark.parametrize("name", OPEN)
def test_what_the_specification_leaves_open_has_a_rule(name: str) -> None:
    """Each right value is accepted, and each wrong one is named."""
    assert [value for value in RIGHT[name] if found(with_shared(**{name: value}))] == []
    assert [value for value in dict(WRONG)[name] if not found(with_shared(**{name: value}))] == []


def test_every_setting_is_looked_at() -> None:
    """A new setting gets a shape, or a rule of its own here."""
    addresses = {"BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL"}
    others = {"HOOKS", "HTTP_SESSION", "HEALTH_TOKEN", "ALERTS"}
    assert set(RULES) | addresses | OWN_NAMES | others == PROJECT_NAMES | APP_NAMES - {"PROJECTS"}
