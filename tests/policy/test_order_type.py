"""One word for each type, whichever list a document's word is of."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

import pytest

from checkout_integration.policy.order_type import may_pay_for, type_of
from checkout_integration.protocol.order import parse_order
from tests.support.policy.observations import creation, known, message, row

WORDS = ("key", "product", "products", "virtual_currency", "simple")


@pytest.mark.spec("ORD-35", "ORD-37", "ORD-38")
@pytest.mark.parametrize(
    ("word", "units", "paid_with_units", "shown"),
    [
        ("key", "0", False, "key"),
        ("simple", None, False, "simple"),
        ("product", "0", False, "product"),
        ("products", "0", False, "product"),
        ("products", "500", True, "product"),
        ("products", "500", False, "virtual_currency"),
        ("simple", "99.5", False, "virtual_currency"),
        ("virtual_currency", "0", False, "virtual_currency"),
        ("something new", "7", False, "something new"),
        (None, "7", False, None),
    ],
)
def test_a_type_has_one_word(
    word: str | None, units: str | None, paid_with_units: bool, shown: str | None
) -> None:
    """``products`` is ``product``; units that were bought say virtual currency, units that were paid with do not."""
    document = {
        "type": word,
        "virtual_currency_amount": None if units is None else Decimal(units),
        "is_buy_for_virtual_currency": paid_with_units,
    }
    assert type_of(parse_order({"id": "order-1", **document})) == shown


@pytest.mark.spec("ORD-35")
@pytest.mark.parametrize("checkout", ["key", "product", "virtual_currency", "simple"])
def test_only_virtual_currency_comes_back_as_another_word(checkout: str) -> None:
    """An Order has no word for it, so any of the three may stand for it; a new word stands for nothing."""
    fitting = {word for word in WORDS if may_pay_for(word, checkout)}
    assert (
        fitting
        == {
            "key": {"key"},
            "product": {"product", "products"},
            "virtual_currency": set(WORDS),
            "simple": {"simple"},
        }[checkout]
    )
    assert not may_pay_for("something new", checkout)
    assert not may_pay_for(None, checkout)


@pytest.mark.spec("ORD-35", "EP2-15")
@pytest.mark.parametrize("word", ["simple", "products", "virtual_currency"])
def test_the_word_of_creation_is_no_contradiction(word: str) -> None:
    """What the paid order says replaces what creation said, in any sequence, and opens no incident."""
    observations = (
        creation(type="virtual_currency"),
        row("created", 3, type=word),
        message("payment.success", 5, type=word, virtual_currency_amount=500),
        row("processed", 9, type=word),
    )
    for sequence in permutations(observations):
        state = known(*sequence)
        assert (type_of(state.order), state.order.type) == ("virtual_currency", word)
        assert state.merged.conflicts == set()


@pytest.mark.spec("ORD-35")
def test_two_types_of_one_payment_are_an_incident() -> None:
    """The earliest stands."""
    first, second = message("payment.success", 0, type="simple"), message("payment.refund", 9, type="key")
    for sequence in permutations((first, second)):
        state = known(*sequence)
        assert state.order.type == "simple"
        assert state.merged.conflicts == {"type"}
        assert "conflict:type" in state.contradictions
