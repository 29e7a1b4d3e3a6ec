"""The words of the specification, written out a second time: client and sandbox share the first."""

from __future__ import annotations

import pytest

from checkout_integration.protocol import vocabulary


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        pytest.param(
            vocabulary.OrderStatus,
            "created processed rejected canceled refunded chargeback pending",
            marks=pytest.mark.spec("STA-01", "ORD-04"),
        ),
        pytest.param(
            vocabulary.Event,
            "payment.success payment.chargeback payment.refund payment.cancel user.validate",
            marks=pytest.mark.spec("EVT-03", "EVT-04", "EVT-05", "EVT-06", "EVT-07"),
        ),
        pytest.param(
            vocabulary.OrderType,
            "key product virtual_currency simple",
            marks=pytest.mark.spec("SVC-03", "EP1-19", "EP2-15"),
        ),
        pytest.param(
            vocabulary.Platform,
            "steam gog uplay origin psn xbox nintendo itch egs",
            marks=pytest.mark.spec("ORD-36", "EP1-18", "EP2-16"),
        ),
        pytest.param(vocabulary.VatPayer, "buyer seller nobody", marks=pytest.mark.spec("ORD-41")),
        pytest.param(
            vocabulary.TestingCase,
            "correct_payment non_existing_user existing_user invalid_signature",
            marks=pytest.mark.spec("ORD-43"),
        ),
        pytest.param(vocabulary.FormMode, "embed iframe standalone", marks=pytest.mark.spec("ORD-44")),
    ],
)
def test_the_words_are_those_of_the_specification(words: type[vocabulary.OrderStatus], spelled: str) -> None:
    """Each of them, and no others."""
    assert [word.value for word in words] == spelled.split()


@pytest.mark.parametrize(
    ("word", "spelled"),
    [
        pytest.param(vocabulary.OBJECT_ORDER, "order", marks=pytest.mark.spec("ORD-03")),
        pytest.param(vocabulary.OBJECT_USER, "user", marks=pytest.mark.spec("USR-02")),
        pytest.param(vocabulary.OBJECT_LIST, "list", marks=pytest.mark.spec("LST-01")),
        pytest.param(vocabulary.TYPE_NOTIFICATION, "notification", marks=pytest.mark.spec("WHK-02")),
        pytest.param(vocabulary.TYPE_PRODUCTS, "products", marks=pytest.mark.spec("ORD-35")),
    ],
)
def test_the_words_that_are_always_the_same(word: str, spelled: str) -> None:
    """What each kind of document calls itself."""
    assert word == spelled
