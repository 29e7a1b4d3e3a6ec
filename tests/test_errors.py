"""The public exceptions, and the tree that their module draws."""

from __future__ import annotations

import re

import pytest

import checkout_integration
from checkout_integration import errors, flows
from checkout_integration.client import errors as service_errors
from checkout_integration.client.statuses import error_of
from checkout_integration.protocol.endpoints import ORDER, TOKENS, TRANSACTIONS
from checkout_integration.protocol.errors import ErrorObject
from tests.support.documents import ROOT

LINE = re.compile(r"^    ([ │]*(?:[├└]─ )?)([A-Z]\w+)", re.MULTILINE)


def drawn() -> dict[str, str]:
    """Return the tree of the docstring: each exception with the one above it."""
    above: dict[int, str] = {}
    parents = {}
    for branch, name in LINE.findall(errors.__doc__ or ""):
        depth = len(branch)
        above = {level: each for level, each in above.items() if level < depth}
        parents[name] = above[max(above)] if above else ""
        above[depth] = name
    return parents


def test_the_tree_is_that_of_the_classes() -> None:
    """Each stands below its own base."""
    own = {name: parent for name, parent in drawn().items() if name in errors.__all__}
    assert own == {
        name: base if (base := getattr(errors, name).__base__.__name__) != "Exception" else ""
        for name in errors.__all__
    }


def test_no_exception_of_the_service_is_missing() -> None:
    """What client.errors defines is public."""
    kinds = [kind for kind in vars(service_errors).values() if isinstance(kind, type)]
    own = {kind.__name__ for kind in kinds if issubclass(kind, errors.CheckoutError)}
    assert own <= set(errors.__all__)


def test_no_exception_of_flows_is_missing() -> None:
    """What flows and their rooms name in ``__all__`` is public."""
    rooms = (flows, flows.accounting, flows.operations, flows.outbox, flows.privacy, flows.sync)
    named = {name: getattr(room, name) for room in rooms for name in room.__all__}
    kinds = {name for name, kind in named.items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds <= set(errors.__all__)


@pytest.mark.parametrize(
    ("row", "status"), [("3xx", 302), ("4xx but 429", 400), ("4xx but 429", 422), ("429", 429), ("5xx", 500)]
)
def test_the_page_says_when_a_retry_is_safe(row: str, status: int) -> None:
    """docs/reference/errors.md: for an order, and for what may be sent again."""
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {row} |")]
    order, token, rows = (
        error_of(endpoint, status, ErrorObject(code="", message="", details=""), ())
        for endpoint in (ORDER, TOKENS, TRANSACTIONS)
    )
    said = [order.retry_is_safe, order.outcome_unknown, token.retry_is_safe]
    words = ["yes" if each else "no" for each in said]
    assert [words[0], words[1], "`unknown`" if order.outcome_unknown else "`failed`", words[2]] == [
        cell.strip() for cell in line.strip("|").split("|")[1:]
    ]
    assert rows.retry_is_safe == token.retry_is_safe


def test_the_version_is_a_released_or_a_coming_one() -> None:
    """Semantic versioning, read by the build from this very line."""
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", checkout_integration.__version__)
