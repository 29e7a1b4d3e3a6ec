"""The pages of settings against the settings."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES, problems
from checkout_integration.conf.project import Project
from tests.support.documents import block

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("settings.md", "another-service.md"))
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_every_setting_is_described_and_no_other() -> None:
    """A setting without documentation cannot be found."""
    described = [name for name, _, _ in ROW.findall(PAGES)]
    assert sorted(described) == sorted(APP_NAMES | PROJECT_NAMES)


def test_defaults_are_those_of_the_code() -> None:
    """The pages have the default of each setting."""
    documented = {name: default.strip("`") for name, default, _ in ROW.findall(PAGES)}
    for each in fields(Project):
        name = each.name.upper()
        if each.default is not MISSING and name != "LIST_URL":
            default = list(each.default) if isinstance(each.default, tuple) else each.default
            assert documented[name] == repr(default).replace("'", '"')


def test_the_example_has_every_setting_and_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with a value that it may have."""
    monkeypatch.setenv("CHECKOUT_SECRET_KEY", "current_key_of_my_shop")
    monkeypatch.setenv("CHECKOUT_HEALTH_TOKEN", "a-token-of-our-monitors")
    monkeypatch.setenv("CHECKOUT_SERVER_TOKEN", "a-token-of-our-servers")
    monkeypatch.setenv("CHECKOUT_OLD_SECRET_KEY", "previous_key_of_my_shop")
    written: dict[str, Any] = {}
    exec(block("docs/settings.md", "# settings.py, every setting"), written)
    exec(block("docs/another-service.md", "# settings.py, another service"), written)
    settings = written["CHECKOUT_INTEGRATION"]
    assert list(problems(settings)) == []
    assert set(settings) | set(settings["PROJECTS"]["default"]) == APP_NAMES | PROJECT_NAMES


def test_the_token_of_the_page_about_health_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing wrong."""
    monkeypatch.setenv("CHECKOUT_HEALTH_TOKEN", "a-token-of-our-monitors")
    monkeypatch.setenv("CHECKOUT_SERVER_TOKEN", "a-token-of-our-servers")
    settings: dict[str, Any] = {"PROJECTS": {"default": {}}}
    exec(block("docs/health.md", "# settings.py, the token of monitors"), {"CHECKOUT_INTEGRATION": settings})
    assert {problem.id for problem in problems(settings)} == {"checkout_integration.E002"}
