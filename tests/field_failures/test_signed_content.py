"""Failures of verifying and reading what came."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from decimal import Decimal

import pytest

from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.signature import verify
from checkout_integration.protocol.strict_json import StrictJsonError, loads
from checkout_integration.protocol.values import Secret, parse_money
from tests.support import old_ways
from tests.support.wire import SECRET, body_of, signature

SOON = 16 * 1024 * 1024


def test_anymail_cve_2018_6596_odd_text_in_the_header_is_a_crash() -> None:
    """A comparison of texts fails for characters outside ASCII: anyone can cause a 500."""
    header = "Signature é" + "0" * 63
    with pytest.raises(TypeError):
        old_ways.verify_as_text(header, b"{}", SECRET)
    assert verify(header, b"{}", [Secret(SECRET)]) is None


def test_gocardless_cve_2026_119037_an_empty_secret_signs_for_everyone() -> None:
    """The hash of a body and nothing is no secret."""
    forged = f"Signature {old_ways.expected_signature(b'{}', '')}"
    assert old_ways.verify_as_text(forged, b"{}", "")
    assert verify(forged, b"{}", [Secret("")]) is None


def test_cve_2026_119036_memory_is_spent_before_the_signature_is_looked_at() -> None:
    """A hundred kilobytes that unpack to a hundred megabytes, from anyone."""
    bomb = gzip.compress(bytes(100 * 1024 * 1024))
    assert peak(lambda: old_ways.read_then_verify(bomb, "gzip")) > SOON
    assert peak(lambda: refused(bomb)) < SOON


def test_payfort_81_an_amount_by_float_is_a_cent_short() -> None:
    """19.99 has no float."""
    assert old_ways.cents(json.loads("19.99")) == 1998
    ours = parse_money(loads(b"19.99"))
    assert ours is not None and ours * 100 == Decimal(1999)


def test_plain_json_takes_infinity_for_an_amount() -> None:
    """Which then compares as more than any price."""
    assert json.loads('{"amount": Infinity}')["amount"] > 10**9
    with pytest.raises(StrictJsonError):
        loads(b'{"amount": Infinity}')


def test_plain_json_lets_the_last_of_two_keys_win() -> None:
    """Two readers of one signed body see two amounts."""
    body = b'{"amount": 9.99, "amount": 0.01}'
    assert json.loads(body)["amount"] == 0.01
    with pytest.raises(StrictJsonError):
        loads(body)


def test_deep_brackets_end_a_plain_reader() -> None:
    """A RecursionError is no ValueError: no handler catches it."""
    body = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(RecursionError):
        json.loads(body)
    with pytest.raises(StrictJsonError):
        loads(body)


def test_fob_coinbase_the_refusal_tells_the_expected_signature() -> None:
    """The refusal of any body contains its valid signature."""
    body = body_of()
    refusal = old_ways.refuse_with_hint("Signature 0", body, SECRET)
    assert refusal is not None and signature(body).encode().removeprefix(b"Signature ") in refusal.content


def refused(bomb: bytes) -> None:
    """Our reader does not take it."""
    with pytest.raises(BodyRefused):
        read_body([bomb], "gzip", 1024 * 1024)


def peak(work: Callable[[], object]) -> int:
    """Return the peak of memory, in bytes, that Python allocated for this work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
