"""Settings of a shop that pass the checks, and wrong ones with their messages."""

from __future__ import annotations

from typing import Any

CANARY = "canary-secret-key-0123456789"
OWN: dict[str, Any] = {"PROJECT_ID": "p", "SECRET_KEY": CANARY}
GOOD: dict[str, Any] = {
    "PROJECTS": {"default": OWN},
    "BASE_URL": "https://service.invalid",
    "CHECKOUT_URL": "https://service.invalid",
    "RUNNER": "worker",
}


def with_tokens(tokens: object, second: object = ()) -> dict[str, Any]:
    """Return settings with these OWNERSHIP_TOKENS of one project, and of another one."""
    other = {"PROJECT_ID": "q", "SECRET_KEY": "another-secret-key-0123456789", "OWNERSHIP_TOKENS": second}
    return {**GOOD, "PROJECTS": {"default": {**OWN, "OWNERSHIP_TOKENS": tokens}, "eu": other}}


WRONG: list[tuple[object, str, str, str]] = [
    ({**GOOD, "PROJECTS": {}}, "E001", "PROJECTS", 'Set CHECKOUT_INTEGRATION = {"PROJECTS"'),
    (None, "E001", "PROJECTS", 'Set CHECKOUT_INTEGRATION = {"PROJECTS"'),
    ({**GOOD, "PROJECTS": {"default": {"PROJECT_ID": "p"}}}, "E002", "SECRET_KEY", "Set SECRET_KEY there."),
    (
        {name: value for name, value in GOOD.items() if name != "BASE_URL"},
        "E002",
        "BASE_URL",
        "Set BASE_URL there or in CHECKOUT_INTEGRATION.",
    ),
    ({**GOOD, "BASE_ULR": "x"}, "E003", "BASE_ULR", "Did you mean BASE_URL?"),
    ({**GOOD, "TIMEOUT": "fast"}, "E004", "TIMEOUT", "Set TIMEOUT to a number of seconds"),
    (
        {**GOOD, "RETRY_INTERVAL": -1},
        "E004",
        "RETRY_INTERVAL",
        "Set RETRY_INTERVAL to a whole number of seconds",
    ),
    ({**GOOD, "DYNAMIC_URLS": "False"}, "E004", "DYNAMIC_URLS", "Set DYNAMIC_URLS to True, False or"),
    (
        {**GOOD, "PROJECTS": {"default": {**OWN, "SECRET_KEY": ""}}},
        "E005",
        "SECRET_KEY",
        "Set SECRET_KEY to the Secret key",
    ),
    (
        {**GOOD, "PROJECTS": {"default": {**OWN, "SECRET_KEY": "short"}}},
        "E005",
        "SECRET_KEY",
        "Set SECRET_KEY to the Secret key",
    ),
    (
        {**GOOD, "PROJECTS": {"default": {**OWN, "PREVIOUS_SECRET_KEYS": CANARY}}},
        "E005",
        "PREVIOUS_SECRET_KEYS",
        "Set PREVIOUS_SECRET_KEYS to a list",
    ),
    (
        {**GOOD, "PROJECTS": {"a": OWN, "b": OWN}},
        "E006",
        "SECRET_KEY",
        "Give each project its own SECRET_KEY",
    ),
    (
        {**GOOD, "BASE_URL": "http://service.invalid"},
        "E007",
        "BASE_URL",
        "Set BASE_URL to an https:// address",
    ),
    ({**GOOD, "HOOKS": "shop.checkout.Hooks"}, "E008", "HOOKS", "Set HOOKS to the dotted path of a subclass"),
    (
        {**GOOD, "HOOKS": "tests.test_checks.NoHooks"},
        "E008",
        "HOOKS",
        "Set HOOKS to the dotted path of a subclass",
    ),
    ({**GOOD, "ALERTS": "mail_admin"}, "E021", "ALERTS", "Set ALERTS to"),
    ({**GOOD, "ALERTS": ["ops"]}, "E021", "ALERTS", "Set ALERTS to"),
    ({**GOOD, "ALERTS": []}, "E021", "ALERTS", "Set ALERTS to"),
    ({**GOOD, "ALERTS": True}, "E021", "ALERTS", "Set ALERTS to"),
    ({**GOOD, "ALERTS": "tests.settings.SECRET_KEY"}, "E021", "is not a function", "Set ALERTS to"),
    (with_tokens(["short"]), "E022", "OWNERSHIP_TOKENS", "Set each of OWNERSHIP_TOKENS to 16 or more"),
    (
        with_tokens(["with blanks canary 0123"]),
        "E022",
        "OWNERSHIP_TOKENS",
        "Set each of OWNERSHIP_TOKENS to 16",
    ),
    (with_tokens("canary-of-one-token-alone"), "E022", "is not a list", "Set OWNERSHIP_TOKENS to a list"),
    (with_tokens([CANARY]), "E022", "is also a secret key", "Give the game servers"),
    (
        with_tokens(["canary-of-two-projects"], second=["canary-of-two-projects"]),
        "E022",
        "another",
        "Give the game",
    ),
    ({**GOOD, "HEALTH_TOKEN": "short"}, "E015", "HEALTH_TOKEN", "Set HEALTH_TOKEN to 16 or more"),
    (
        {**GOOD, "HEALTH_TOKEN": "with blanks canary 0123"},
        "E015",
        "HEALTH_TOKEN",
        "Set HEALTH_TOKEN to 16 or more",
    ),
    ({**GOOD, "HEALTH_TOKEN": None}, "E015", "HEALTH_TOKEN", "Set HEALTH_TOKEN to 16 or more"),
    ({**GOOD, "HEALTH_TOKEN": CANARY}, "E015", "HEALTH_TOKEN", "Give monitors a token of their own"),
    ({**GOOD, "PROJECTS": {"a/b": OWN}}, "E011", "'a/b'", "Make the alias of letters"),
]
