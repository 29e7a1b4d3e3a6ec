"""The page about retention: its setting is right, and its table has each kind."""

from __future__ import annotations

import re
from typing import Any

from checkout_integration.conf.rules import FEWEST_DAYS, PRUNABLE
from checkout_integration.flows.retention import pruning
from tests.support.conf.written_settings import found, with_shared
from tests.support.documents import ROOT, block

PAGE = (ROOT / "docs" / "retention.md").read_text(encoding="utf-8")


def test_the_setting_of_the_page_is_accepted() -> None:
    """It names every kind."""
    written: dict[str, Any] = {"CHECKOUT_INTEGRATION": {}}
    exec(block("docs/retention.md", "# settings.py, retention"), written)
    retention = written["CHECKOUT_INTEGRATION"]["RETENTION"]
    assert tuple(retention) == PRUNABLE
    assert found(with_shared(RETENTION=retention)) == []


def test_the_page_has_each_kind_and_the_bounds() -> None:
    """As the code has them."""
    assert tuple(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == PRUNABLE
    assert f"The minimum is {FEWEST_DAYS}" in PAGE
    assert f"in batches of {pruning.BATCH}" in PAGE
