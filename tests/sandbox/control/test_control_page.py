"""docs/reference/sandbox.md against the control API: every action is on the page, and every example works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from checkout_integration.sandbox.control.control_request import PAYMENT_FIELDS
from checkout_integration.sandbox.control.control_views import ACTS
from checkout_integration.sandbox.server.app import ROUTES
from tests.support.sandbox.service import PROJECT, Service

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "sandbox.md").read_text("utf-8")
EXAMPLES = re.findall(r"^(GET|POST|PUT|PATCH) (/_sandbox/\S*)(?: (\{.*\}))?$", PAGE, re.MULTILINE)


def subscription(service: Service) -> str:
    """Return a paid order with a recurring agreement."""
    order_id = service.order_id()
    service.act(order_id, "pay", recurring=True)
    return order_id


READY: dict[str, Callable[[Service], str]] = {
    **dict.fromkeys(("pay", "decline", "expire", ""), Service.order_id),
    **dict.fromkeys(("cancel", "refund", "chargeback", "renew", "resend"), subscription),
}


@pytest.mark.parametrize(("method", "path", "body"), EXAMPLES, ids=[" ".join(each[:2]) for each in EXAMPLES])
def test_an_example_works(service: Service, method: str, path: str, body: str) -> None:
    """As it is written, for an order that is ready for it."""
    action = path.partition("{order}/")[2]
    filled = path.replace("{order}", READY[action](service)).replace("{project}", PROJECT)
    document: Any = json.loads(body) if body else None
    answer = requests.request(method, service.url + filled, json=document, timeout=10)
    assert answer.status_code == 200, answer.text


def test_every_action_has_an_example(service: Service) -> None:
    """Each route of the control API, with each action of an order."""
    shown = {(method, re.sub(r"\{\w+\}", "<>", path)) for method, path, _ in EXAMPLES}
    actions = [("POST", f"/_sandbox/orders/<>/{action}") for action in ACTS]
    assert set(actions) <= shown
    rules = [rule.rule for rule in ROUTES.iter_rules() if rule.endpoint.startswith("control.")]
    paths = {re.sub(r"<\w+>", "<>", rule) for rule in rules}
    known = {path.rpartition("/")[0] + "/<>" if "/testing/" in path else path for _, path in shown}
    assert paths - {"/_sandbox/orders/<>/<>", "/_sandbox/project/<>"} <= known


def test_every_detail_of_a_payment_is_named() -> None:
    """The table of actions is the reference for scripts."""
    assert [name for name in PAYMENT_FIELDS if f"`{name}`" not in PAGE] == []
