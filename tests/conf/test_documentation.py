"""The page of settings against the settings."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES
from checkout_integration.conf.project import Project

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def test_every_setting_is_described_and_no_other() -> None:
    """A setting that nobody can read of might as well not exist."""
    described = [name for name, _, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    assert sorted(described) == sorted(APP_NAMES | PROJECT_NAMES)


def test_defaults_are_those_of_the_code() -> None:
    """The page tells what happens when nothing is set."""
    told = {name: default.strip("`") for name, default, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    for each in fields(Project):
        name = each.name.upper()
        if each.default is not MISSING and name != "LIST_URL":
            default = list(each.default) if isinstance(each.default, tuple) else each.default
            assert told[name] == repr(default).replace("'", '"')
