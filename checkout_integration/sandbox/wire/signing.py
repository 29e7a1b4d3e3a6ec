"""The service's signature of its requests (AUT-04): SHA-256 over the body followed by the secret, as lower-case hex."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from checkout_integration.protocol import vocabulary

WRONG_KEY: Final = vocabulary.SANDBOX_SECRET_PREFIX + "wrong_on_purpose"


def signature_of(body: bytes, secret_key: str) -> str:
    """Return the hash of the sent bytes with the project's secret appended, no separator between."""
    return hashlib.sha256(body + secret_key.encode()).hexdigest()


def authorization_of(body: bytes, secret_key: str) -> str:
    """Return the `Authorization` header of a notification (EP5-01)."""
    return f"{vocabulary.SIGNATURE_SCHEME} {signature_of(body, secret_key)}"


def same_secret(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
