"""The signature of notifications, against a value computed by another program."""

from __future__ import annotations

import pytest

from checkout_integration.sandbox.wire.signing import authorization_of


@pytest.mark.spec("AUT-04", "AUT-07")
def test_the_signature_is_the_hash_of_body_and_secret() -> None:
    """SHA-256 over the body with the secret after it, in lower-case hex (computed with `sha256sum`)."""
    expected = "Signature d209a7cb7eaa432fa5bc0d89e4b4c7bc50aad2f570f451bd411baaeddaf0898d"
    assert authorization_of(b'{"id":"1"}', "sandbox_secret") == expected
