"""The signature of notifications: SHA-256 over the body followed by the project's Secret key (AUT-04).

The signed bytes are the bytes as sent. Reading and writing the JSON again breaks the hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final

from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import SIGNATURE_SCHEME

_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{43}=")
_HEADER: Final = re.compile(rf"{SIGNATURE_SCHEME} +(\S+)", re.IGNORECASE | re.ASCII)


class Encoding(StrEnum):
    """The encoding of the hash in the header, which the specification does not show (AUT-07)."""

    HEX = "hex"
    BASE64 = "base64"


def sign(body: bytes, secret: Secret, encoding: Encoding = Encoding.HEX) -> str:
    """Return the value after ``Signature`` in the Authorization header. Raises ValueError for a blank secret."""
    if _is_blank(secret):
        raise ValueError("a blank secret signs nothing")
    digest = _digest(body, secret)
    return digest.hex() if encoding is Encoding.HEX else base64.b64encode(digest).decode("ascii")


def verify(
    header: str | None,
    body: bytes,
    secrets: Sequence[Secret],
    encodings: Collection[Encoding] = tuple(Encoding),
) -> int | None:
    """Return the index of the secret that signed the body, or None when none did.

    Args:
        header: the value of the Authorization header; it may be any text.
        body: the bytes as received.
        secrets: the accepted secrets, current first; blank ones never match.
        encodings: the accepted ways of writing the hash.

    """
    claimed = _claimed_digest(header, encodings)
    if claimed is None:
        return None
    for index, secret in enumerate(secrets):
        if not _is_blank(secret) and hmac.compare_digest(claimed, _digest(body, secret)):
            return index
    return None


def _digest(body: bytes, secret: Secret) -> bytes:
    return hashlib.sha256(body + secret.reveal().encode()).digest()


def _is_blank(secret: Secret) -> bool:
    return not secret.reveal().strip()


def _claimed_digest(header: str | None, encodings: Collection[Encoding]) -> bytes | None:
    """Return the 32 bytes that the header claims: comparing bytes cannot fail as comparing odd text does."""
    match = _HEADER.fullmatch(header) if header else None
    if match is None:
        return None
    if Encoding.HEX in encodings and _HEX.fullmatch(match[1]):
        return bytes.fromhex(match[1])
    if Encoding.BASE64 in encodings and _BASE64.fullmatch(match[1]):
        return _canonical_base64(match[1])
    return None


def _canonical_base64(text: str) -> bytes | None:
    digest = binascii.a2b_base64(text, strict_mode=True)
    # The last character has two unused bits: only one of its four spellings is accepted.
    return digest if base64.b64encode(digest).decode("ascii") == text else None
