"""The ids of log lines: those of the page, in every line, shown by any formatter of JSON."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.test import Client

from checkout_integration.signals import checkout_paid
from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.flows.conftest import _not_installed, _nothing_refused, hooks, listen
from tests.reference.test_reference import PACKAGE, text_of
from tests.support.documents import block
from tests.support.flows.shop import Failing, Listening, ShopHooks

__all__ = ["_not_installed", "_nothing_refused", "hooks", "listen"]
LOGS = {f"logger.{level}" for level in ("debug", "info", "warning", "error")}
IDS = re.compile(r"extra=\{[^{}]*\}|\bids\b[^\n=]*= [^\n{]*\{[^{}]*\}|def log_ids.*?return [^\n]*", re.DOTALL)
KEY = re.compile(r'"(\w+)"(?::|\])')
WITHOUT_IDS = {
    "HEALTH_TOKEN cannot be read: %s",
    "Receivers could not be handed over (%s%s); the periodic drain will run them.",
    "The database does not respond (%s); the sync looks again.",
    "A pass of the sync failed (%s); its row says where.",
    "%s sells nothing: %s",
    "%s: the service accepts SECRET_KEY again.",
    "OpenTelemetry failed (%s); what it measures goes on.",
}
"""Lines about no order, notification, receiver or pass."""
OF_A_KEY = "%s: the service refused SECRET_KEY"


def sources() -> Iterator[str]:
    """Yield the text of each module of the package but the sandbox's."""
    for path in PACKAGE.rglob("*.py"):
        if "sandbox" not in path.relative_to(PACKAGE).parts:
            yield path.read_text(encoding="utf-8")


def log_calls() -> Iterator[ast.Call]:
    """Yield each call of a logger."""
    for source in sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in LOGS:
                yield node


def documented() -> set[str]:
    """Return the attributes of the page's table."""
    _, _, part = text_of("logging").partition("## Ids, for structured logs")
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def given() -> set[str]:
    """Return the names of ids in the code: keys of what is given as ``extra``, called ``ids``, or returned by ``log_ids``."""
    return {key for source in sources() for part in IDS.findall(source) for key in KEY.findall(part)}


def test_the_ids_of_the_code_are_those_of_the_page() -> None:
    """A name that is in one of them only is a mistake."""
    assert given() == documented()


def test_every_line_has_ids() -> None:
    """But for those that are about none."""
    texts = {
        str(ast.literal_eval(call.args[0]))
        for call in log_calls()
        if not any(each.arg == "extra" for each in call.keywords) and isinstance(call.args[0], ast.Constant)
    }
    assert {text for text in texts if not text.startswith(OF_A_KEY)} == WITHOUT_IDS


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Give what the formatter of the page writes."""
    module, settings = ModuleType("json_logs"), ModuleType("settings")
    exec(block("docs/reference/logging.md", "# mysite/json_logs.py"), vars(module))
    exec(block("docs/reference/logging.md", "# mysite/settings.py, JSON"), vars(settings))
    written = list[dict[str, Any]]()
    assert settings.LOGGING["formatters"]["json"]["()"] == "mysite.json_logs.JsonFormatter"

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(json.loads(self.format(record)))

    handler, logger = Collecting(), logging.getLogger("checkout_integration")
    handler.setFormatter(module.JsonFormatter())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(settings.LOGGING["loggers"]["checkout_integration"]["level"])
    yield written
    logger.removeHandler(handler)
    logger.setLevel(before)


@pytest.mark.django_db
def test_a_paid_order_is_two_lines(
    lines: list[dict[str, Any]], checkout_deliver: Deliver, listen: Listening
) -> None:
    """That it changed, and that its goods are granted; as on the page, but for the values."""
    listen(checkout_paid, name="shop.signals.grant_items")
    order = order_document_for(CheckoutFactory())
    checkout_deliver(order=order)
    shown = [json.loads(line) for line in text_of("logging").splitlines() if line.startswith('{"at"')]
    assert [list(line) for line in lines] == [list(line) for line in shown]
    for line, example in zip(lines, shown, strict=True):
        own = {**line, "at": "", "order_id": "o-1"} | ({"receiver_run": 7} if "receiver_run" in line else {})
        own["message"] = own["message"].replace(order["id"], "o-1")
        assert own == {**example, "at": ""}


@pytest.mark.django_db
def test_a_refused_request_is_a_line_without_its_content(lines: list[dict[str, Any]], client: Client) -> None:
    """With its project and the reason."""
    client.post("/checkout/webhook/", b'{"canary": 1}', content_type="application/json")
    client.post("/checkout/webhook/canary/", b"{}", content_type="application/json")
    assert [(line["project"], line["reason"]) for line in lines] == [
        ("default", "INVALID_SIGNATURE"),
        ("", "UNKNOWN_PROJECT"),
    ]
    assert "canary" not in str(lines)


@pytest.mark.django_db
def test_no_line_has_personal_data(
    lines: list[dict[str, Any]],
    checkout_deliver: Deliver,
    hooks: type[ShopHooks],
    listen: Listening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever fails."""
    canary = "canary@example.com"
    user = UserDocumentFactory(email=canary, external_id=canary)
    listen(checkout_paid, Failing())
    checkout_deliver(order=order_document_for(CheckoutFactory(), user=user))
    monkeypatch.setattr(hooks, "resolve", staticmethod(Failing()))
    checkout_deliver(order={**order_document_for(CheckoutFactory(), user=user), "id": "o-2", "metadata": {}})
    checkout_deliver(event="user.validate", user=user)
    assert len(lines) >= 3
    assert canary not in str(lines)
