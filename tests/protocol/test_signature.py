"""The signature of notifications: what verifies, and that nothing else does or breaks."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkout_integration.protocol.signature import Encoding, sign, verify
from checkout_integration.protocol.values import Secret

SECRET = Secret("s3cret-key-of-project")
BODY = '{"name":"café \\u003c\\u0026"}'.encode()
DIGEST = hashlib.sha256(BODY + b"s3cret-key-of-project").digest()
HEADER = f"Signature {DIGEST.hex()}"


@pytest.mark.spec("AUT-04", "AUT-07", "EP5-01")
def test_the_hash_of_body_and_secret_verifies() -> None:
    """SHA-256 over the bytes as sent with the secret appended, in lower-case hex."""
    assert verify(HEADER, BODY, [SECRET]) == 0
    assert sign(BODY, SECRET) == DIGEST.hex()


@pytest.mark.spec("AUT-04")
def test_a_known_signature_stays_what_it_is() -> None:
    """A value worked out by another tool: printf '{}key' | sha256sum."""
    assert sign(b"{}", Secret("key")) == "59292d1886189af59e739dfd7487d7c5fb3a137106b1ae5ef3b105d2072aba71"


@pytest.mark.spec("AUT-07")
def test_base64_verifies_where_it_is_accepted() -> None:
    """The encoding is not shown, so both are known and either may be switched off."""
    value = sign(BODY, SECRET, Encoding.BASE64)
    assert value == base64.b64encode(DIGEST).decode()
    assert verify(f"Signature {value}", BODY, [SECRET], [Encoding.BASE64]) == 0
    assert verify(f"Signature {value}", BODY, [SECRET], [Encoding.HEX]) is None
    assert verify(HEADER, BODY, [SECRET], [Encoding.BASE64]) is None


@pytest.mark.spec("AUT-04")
def test_an_older_secret_verifies_and_is_named() -> None:
    """A refund months later is signed with the secret of the day of the order."""
    secrets = [Secret("new-secret-of-project"), Secret("between"), SECRET]
    assert verify(HEADER, BODY, secrets) == 2


@pytest.mark.spec("AUT-07", "EP5-01")
def test_upper_case_hex_and_scheme_are_accepted() -> None:
    """Hex digits and authentication schemes have no case."""
    assert verify(f"signature {DIGEST.hex().upper()}", BODY, [SECRET]) == 0


@pytest.mark.spec("AUT-04")
@pytest.mark.parametrize("secret", [" s3cret", "s3cret ", "\ts3cret\n"])
def test_a_secret_is_used_as_it_is(secret: str) -> None:
    """Blanks at its ends are part of it: the hash is over the body and exactly this text."""
    digest = hashlib.sha256(BODY + secret.encode()).hexdigest()
    assert sign(BODY, Secret(secret)) == digest
    assert verify(f"Signature {digest}", BODY, [Secret(secret)]) == 0
    assert verify(f"Signature {digest}", BODY, [Secret(secret.strip())]) is None


@pytest.mark.spec("AUT-04")
def test_another_body_or_secret_does_not_verify() -> None:
    """One byte more, one less, another key, or none at all."""
    assert verify(HEADER, BODY + b" ", [SECRET]) is None
    assert verify(HEADER, BODY[:-1], [SECRET]) is None
    assert verify(HEADER, BODY, [Secret("s3cret-key-of-projecT")]) is None
    assert verify(HEADER, BODY, []) is None


@pytest.mark.spec("AUT-04")
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0"])
def test_a_blank_secret_verifies_nothing(blank: str) -> None:
    """Not even the hash that anyone can compute: the empty secret of a missing setting."""
    forged = f"Signature {hashlib.sha256(BODY + blank.encode()).hexdigest()}"
    assert verify(forged, BODY, [Secret(blank)]) is None
    assert verify(forged, BODY, [SECRET, Secret(blank)]) is None
    with pytest.raises(ValueError, match=r"^a blank secret signs nothing$"):
        sign(BODY, Secret(blank))


@pytest.mark.spec("EP5-01", "AUT-04")
@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("scheme", ["", "Bearer ", "Basic ", "Sig ", "Signatures "])
def test_the_header_names_its_scheme(scheme: str, encoding: Encoding) -> None:
    """``Signature``, and no other: the right hash alone, or under another name, is no signature."""
    value = sign(BODY, SECRET, encoding)
    assert verify(f"Signature {value}", BODY, [SECRET]) == 0
    assert verify(f"{scheme}{value}", BODY, [SECRET]) is None


@pytest.mark.spec("AUT-04", "EP5-01")
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Signature",
        "Signature ",
        DIGEST.hex(),
        f"Bearer {DIGEST.hex()}",
        f"Signature {DIGEST.hex()[:-1]}",
        f"Signature {DIGEST.hex()}0",
        f"Signature {DIGEST.hex()}, Signature {DIGEST.hex()}",
        f"Signature {DIGEST.hex()} ",
        f"Signature {DIGEST.hex()}\n",
        f" Signature {DIGEST.hex()}",
        f"Signature={DIGEST.hex()}",
        f"Signature 0x{DIGEST.hex()[2:]}",
        f"Signature {DIGEST.hex().replace('a', 'ａ')}",
        f"Signature {'é' * 64}",
        "Signature " + "\ud800" * 64,
        f"Signature {base64.b64encode(DIGEST).decode().rstrip('=')}",
        f"Signature {base64.urlsafe_b64encode(DIGEST + b'?').decode()}",
        f"Signature {'=' * 44}",
        f"Signature {'A' * 10_000_000}",
        "Signature " + "0" * 64,
    ],
)
def test_a_bad_header_is_none_and_no_error(header: str | None) -> None:
    """Any bad header gives None, never an exception."""
    assert verify(header, BODY, [SECRET]) is None


@pytest.mark.spec("AUT-07")
def test_the_unused_bits_of_base64_are_no_second_spelling() -> None:
    """Only the canonical text of a hash is accepted."""
    value = base64.b64encode(DIGEST).decode()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    twin = value[:42] + alphabet[alphabet.index(value[42]) ^ 1] + "="
    assert base64.b64decode(twin) == DIGEST
    assert verify(f"Signature {twin}", BODY, [SECRET]) is None


@pytest.mark.spec("AUT-04")
@pytest.mark.parametrize("bit", range(256))
def test_every_flipped_bit_is_noticed(bit: int) -> None:
    """No part of the hash goes uncompared."""
    flipped = bytearray(DIGEST)
    flipped[bit // 8] ^= 1 << bit % 8
    assert verify(f"Signature {bytes(flipped).hex()}", BODY, [SECRET]) is None


@given(st.text(max_size=100), st.binary(max_size=50))
def test_any_header_and_body_get_an_answer(header: str, body: bytes) -> None:
    """No text can raise."""
    assert verify(header, body, [SECRET]) is None
    assert verify(f"Signature {header}", body, [SECRET]) is None


@pytest.mark.spec("AUT-04", "AUT-07")
@given(
    st.binary(max_size=200),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip),
    st.sampled_from(Encoding),
)
def test_what_is_signed_verifies(body: bytes, secret: str, encoding: Encoding) -> None:
    """For every body, secret and encoding."""
    key = Secret(secret)
    assert verify(f"Signature {sign(body, key, encoding)}", body, [key]) == 0
