"""Addresses and options for displaying the form."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.form import build_form_options, build_token_options, form_address


@pytest.mark.parametrize("base", ["https://form.example", "https://form.example/"])
@pytest.mark.spec("EP6-03")
def test_the_address_of_the_form_names_the_order(base: str) -> None:
    """With one slash, whether or not the setting ends in one."""
    assert form_address(base, "order-1") == "https://form.example/?order_id=order-1"


def test_an_odd_order_id_stays_one_parameter() -> None:
    """It comes from outside."""
    assert (
        form_address("https://form.example", "a&b=c/?#")
        == "https://form.example/?order_id=a%26b%3Dc%2F%3F%23"
    )


@pytest.mark.spec("EP6-03", "EP6-04")
def test_the_options_of_the_client_side_object() -> None:
    """The form's address, or the token and nothing else."""
    assert build_form_options("https://form.example", "o") == {"formUrl": "https://form.example/?order_id=o"}
    assert build_token_options("tok-1") == {"token": "tok-1"}
