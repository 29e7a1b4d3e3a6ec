"""Responses of the creation endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.protocol.responses import (
    MalformedResponse,
    parse_order_response,
    parse_token_response,
)

FORM = "https://form.example/?token=tok-1"


@pytest.mark.spec("TOK-01", "TOK-02", "EP1-23", "SVC-02")
def test_token_creation_answers_a_token_and_a_form() -> None:
    """Unknown fields beside them do no harm, and neither is shown by repr."""
    answer = parse_token_response({"token": "tok-1", "payment_form_url": FORM, "more": 1})
    assert (answer.token, answer.payment_form_url) == ("tok-1", FORM)
    assert "tok-1" not in repr(answer)


@pytest.mark.spec("TOK-01", "TOK-02", "EP1-23")
@pytest.mark.parametrize("length", [255, 256, 4096, 100_000])
def test_a_long_token_is_whole(length: int) -> None:
    """It has the customer and the checkout in encrypted form, so it can have any length, and the form's address with it."""
    token = "t" * length
    answer = parse_token_response({"token": token, "payment_form_url": FORM + token})
    assert (answer.token, answer.payment_form_url) == (token, FORM + token)


@pytest.mark.spec("EP2-17", "SVC-02")
def test_order_creation_answers_an_id_and_a_form() -> None:
    """The identifier of the order and where to send the customer."""
    answer = parse_order_response({"id": "order-1", "payment_form_url": FORM})
    assert (answer.id, answer.payment_form_url) == ("order-1", FORM)


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {}, {"id": "o"}, {"payment_form_url": FORM}, {"id": "", "payment_form_url": FORM},
     {"id": 5, "payment_form_url": FORM}, {"id": "o", "payment_form_url": None},
     {"id": "o", "payment_form_url": "javascript:alert(1)"}, {"id": "o", "payment_form_url": "//form.example"}],
)  # fmt: skip
@pytest.mark.spec("EP2-17", "SVC-02")
def test_an_incomplete_answer_is_malformed(document: Any) -> None:
    """An incomplete response is refused, and so is a form address that is no web address."""
    with pytest.raises(MalformedResponse):
        parse_order_response(document)


@pytest.mark.spec("EP1-23", "TOK-01", "TOK-02")
@pytest.mark.parametrize(
    "document",
    [None, {}, {"token": "t"}, {"payment_form_url": FORM}, {"token": "", "payment_form_url": FORM},
     {"token": 5, "payment_form_url": FORM}, {"token": None, "payment_form_url": FORM},
     {"token": "t", "payment_form_url": ""}, {"token": "t", "payment_form_url": "data:text/html,x"}],
)  # fmt: skip
def test_a_token_without_its_form_is_malformed(document: Any) -> None:
    """Both are texts, and neither is empty."""
    with pytest.raises(MalformedResponse):
        parse_token_response(document)


@pytest.mark.spec("EP2-17", "SVC-02", "EP1-23", "TOK-01")
@pytest.mark.parametrize(
    "identifier", ["0", "00-Order 1/ä", "0b8f8f0e-9d1c-4c6e-8f0b-1f7a2c3d4e50", "x" * 255]
)
def test_identifiers_and_addresses_are_read_to_the_letter(identifier: str) -> None:
    """No character of either is dropped."""
    form = f"https://form.example/?order_id={identifier}"
    order = parse_order_response({"id": identifier, "payment_form_url": form})
    assert (order.id, order.payment_form_url) == (identifier, form)
    token = parse_token_response({"token": identifier, "payment_form_url": form})
    assert (token.token, token.payment_form_url) == (identifier, form)
