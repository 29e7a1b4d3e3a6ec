"""No card number is stored, whatever the service sends of a card (PCI)."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from checkout_integration.testing.delivery import Deliver
from checkout_integration.testing.payloads import ListedOrderDocumentFactory, OrderDocumentFactory
from tests.flows.conftest import _not_installed
from tests.support.flows.shop import notification, record_listed
from tests.support.tables import cells

__all__ = ["_not_installed"]
pytestmark = pytest.mark.django_db
NUMBER: Final = "4242424242424242"
DIGITS: Final = re.compile(rb"(?<![0-9A-Za-z.-])[0-9](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z])")
CARDS: list[dict[str, Any]] = [
    {},
    {"masked": NUMBER},
    {"masked": "4242 4242 4242 4242"},
    {"first6": NUMBER, "last4": NUMBER, "masked": NUMBER},
    {"first6": int(NUMBER), "masked": ""},
]


def passes_luhn(digits: bytes) -> bool:
    """Whether the last digit fits the others, as that of a card's number does."""
    figures = [int(each) for each in digits.decode() if each.isdigit()][::-1]
    doubled = [sum(divmod(2 * each, 10)) for each in figures[1::2]]
    return (sum(figures[::2]) + sum(doubled)) % 10 == 0


def columns_with_numbers() -> set[str]:
    """Columns in which 13 to 19 digits stand that may be a card's number."""
    return {name for name, content in cells() if any(map(passes_luhn, DIGITS.findall(content)))}


@pytest.mark.parametrize("card", CARDS, ids=["usual", "masked", "spaced", "everywhere", "number"])
def test_no_card_number_is_stored(checkout_deliver: Deliver, card: dict[str, Any]) -> None:
    """By notification and by list; only the notification's own bytes stay unchanged."""
    method = {f"method__card__{name}": value for name, value in card.items()}
    assert checkout_deliver(notification(order=OrderDocumentFactory(**method))).status_code == 200
    record_listed([ListedOrderDocumentFactory(**method)])
    allowed = {"checkout_integration_notification.body"} if card else set()
    assert columns_with_numbers() <= allowed


@pytest.mark.parametrize("number", ["4242424242424242", "5555 5555 5555 4444", "378282246310005"])
def test_a_number_would_be_seen(number: str) -> None:
    """The scan finds what it looks for, and no other number of that length."""
    assert [passes_luhn(each) for each in DIGITS.findall(f'x "{number}" y'.encode())] == [True]
    assert not any(map(passes_luhn, DIGITS.findall(b"4242424242424241")))
