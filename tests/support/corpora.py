"""Inputs that no one here wrote: read from the folder that `CHECKOUT_CORPORA` names, never copied into the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = "CHECKOUT_CORPORA"


def corpus(name: str) -> Path:
    """Return a file or folder of the corpora; without them the run is incomplete: a skip here, a failure in CI."""
    path = Path(os.environ.get(FOLDER, "/nowhere")) / name
    if not path.exists():
        message = f"{name} is missing: let {FOLDER} name the folder of the corpora"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


def naughty_strings() -> list[str]:
    """Return the 515 strings of the big list of naughty strings."""
    strings: list[str] = json.loads(corpus("naughty-strings/blns.json").read_text(encoding="utf-8"))
    return strings


def url_cases() -> list[dict[str, Any]]:
    """Return the 869 cases of the WHATWG's URL test data; the comments between them are left out."""
    cases = json.loads(corpus("urls/urltestdata.json").read_text(encoding="utf-8"))
    return [case for case in cases if isinstance(case, dict)]
