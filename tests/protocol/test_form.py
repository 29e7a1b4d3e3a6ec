"""Addresses and options for displaying the form."""

from __future__ import annotations

import pytest

from checkout_integration.protocol.form import (
    build_form_options,
    build_token_options,
    form_address,
    safe_address,
)


@pytest.mark.parametrize("base", ["https://form.example", "https://form.example/"])
@pytest.mark.spec("EP6-03")
def test_the_address_of_the_form_names_the_order(base: str) -> None:
    """With one slash, whether or not the setting ends in one."""
    assert form_address(base, "order-1") == "https://form.example/?order_id=order-1"


@pytest.mark.spec("EP6-03")
def test_an_odd_order_id_stays_one_parameter() -> None:
    """It comes from outside."""
    assert (
        form_address("https://form.example", "a&b=c/?#")
        == "https://form.example/?order_id=a%26b%3Dc%2F%3F%23"
    )


@pytest.mark.spec("EP6-03", "EP6-04", "EP1-24")
def test_the_options_of_the_client_side_object() -> None:
    """The form's address, or the token and nothing else."""
    assert build_form_options("https://form.example", "o") == {"formUrl": "https://form.example/?order_id=o"}
    for token in ("tok-1", "a+b/c==", "t" * 4096):
        assert build_token_options(token) == {"token": token}


@pytest.mark.parametrize(
    ("address", "loopback", "safe"),
    [
        ("https://form.example/?order_id=1", False, True),
        ("http://form.example/", True, False),
        ("http://127.0.0.1:8001/", True, True),
        ("http://[::1]:8001/", True, True),
        ("http://localhost/", True, True),
        ("http://localhost/", False, False),
        ("http://localhost.evil.example/", True, False),
        ("javascript:alert(1)", True, False),
        ("https://user@form.example/", True, False),
        ("https://form.example\\@evil.example/", True, False),
        ("https://form.example:0/", True, False),
        ("https://form.example/a b", True, False),
        ("\thttps://form.example/", True, False),
        ("https:///path", True, False),
        (None, True, False),
    ],
)
@pytest.mark.spec("AUT-01")
def test_only_safe_addresses_are_for_a_page(address: str | None, loopback: bool, safe: bool) -> None:
    """HTTPS, and this machine where it is allowed; a safe one stays as it is, any other is empty."""
    assert safe_address(address, loopback=loopback) == (address if safe else "")


@pytest.mark.spec("AUT-01", "SVC-05")
@pytest.mark.parametrize(
    "address",
    [
        "http://localhost/",
        "http://127.0.0.1:8001/",
        "http://[::1]/",
        "http://form.example/",
        "http://sandbox/",
    ],
)
def test_plain_http_is_never_linked_unasked(address: str) -> None:
    """Each of the two ways that allow it has to be named."""
    assert safe_address(address) == ""
    assert safe_address(address.replace("http:", "https:")) == address.replace("http:", "https:")
