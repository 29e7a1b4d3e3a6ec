"""The way of a payment through the package: how many of its files are open from the webhook to the receiver."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import checkout_integration
from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for

PACKAGE = Path(checkout_integration.__file__).parent
TESTING = PACKAGE / "testing"
STEPS = ("views/", "dispatch.py", "flows/")
QUESTIONS = Path(__file__).parent / "reader.toml"
PAGE = PACKAGE.parent / "docs" / "architecture.md"
NOT_EACH_TIME = {"models/row.py"}
"""On a server database no row of a payment leads to another."""


@pytest.mark.django_db(transaction=True)
def test_files_from_the_webhook_to_the_receiver(
    checkout_deliver: Deliver, settings: Any, record_property: Callable[[str, object], None]
) -> None:
    """In request mode, where all three steps are in one process; each file in which a function is called counts."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "RUNNER": "request"}
    heard, files = list[str](), set[Path]()

    def grant(idempotency_key: str, **arguments: Any) -> None:
        heard.append(idempotency_key)

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and not path.is_relative_to(TESTING):
            files.add(path)

    checkout_deliver(
        order=order_document_for(CheckoutFactory())
    )  # modules are loaded, and statements composed
    order = order_document_for(CheckoutFactory())
    checkout_paid.connect(grant, dispatch_uid="grant")
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        checkout_deliver(order=order)
    finally:
        sys.setprofile(before)
        checkout_paid.disconnect(dispatch_uid="grant")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    record_property("From the webhook to the receiver", f"{len(files)} files, {lines:,} lines")
    assert len(heard) == 1
    way = {str(path.relative_to(PACKAGE)) for path in files}
    assert way | NOT_EACH_TIME == listed()


def test_the_steps_are_few_files() -> None:
    """The page says how many files a reader opens first."""
    steps = [name for name in listed() if name.startswith(STEPS) and not name.startswith("flows/database/")]
    assert f"these {len(steps)} files" in PAGE.read_text(encoding="utf-8")


def test_where_a_rule_lives_there_is_a_file() -> None:
    """The table answers the questions of `reader.toml`, one row each."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## Where a rule lives")
    rows = [line for line in table.split("\n## ")[0].splitlines() if ".py`" in line]
    questions = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))
    assert len(rows) == sum(len(part) for part in questions.values())
    named = {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)}
    assert [name for name in sorted(named) if not (PACKAGE / name).exists()] == []


def listed() -> set[str]:
    """Return the files that docs/architecture.md lists."""
    _, _, part = PAGE.read_text(encoding="utf-8").partition("## The way of one payment")
    return {word for word in part.split("```")[1].split() if word.endswith(".py")}
