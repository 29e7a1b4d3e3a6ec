"""Bodies that are nearly right: documents of the specification with a few bytes or values changed, from a seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.support.protocol.vectors import vector_bytes

WORDS = [
    *(b"NaN", b"-Infinity", b"1e2000000", b"-1e-999", b"0.1e+21", b"9" * 45, b"-0", b"01", b"1.", b"true", b"null"),
    *(b'"', b"\\", b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\u00zz", b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"[" * 70, b'{"a":' * 70, b"{}", b"]", b",", b":", b"\r\n", b"\xe2\x80\xa8", b"/*", b"'"),
]  # fmt: skip
"""What parsers trip over."""
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 255, 2**31, -(2**63), 10**39, -(10**39), 0.1, 1e-9, 1e20),
    *("", " ", "0", "false", "9.99", "1_000", "１２", "x" * 300, "\x00", "\ud800", "é" * 256, "javascript:x"),
    *("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00+14:00"),
    *("1970-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T10:00:60Z"),
    *([], {}, [[]], [None], {"": ""}, {"a": {"a": {"a": []}}}, [{}] * 30, {"x": "y" * 256}),
    *({"seconds": 10**18, "nanos": 10**9}, {"seconds": -62135596800}, {"seconds": 10**39}, {"nanos": -1}),
    *("payment.success", "payment.refund", "payment.chargeback", "payment.cancel", "user.validate"),
    *("created", "processed", "refunded", "rejected", "canceled", "chargeback", "pending", "USD", "JPY", "XXX"),
]  # fmt: skip


class Mutations:
    """An endless row of bodies, the same for the same seed."""

    def __init__(self, seed: int, bases: list[bytes]) -> None:
        """``bases`` are JSON texts; each body is made from one of them."""
        self._random = random.Random(seed)
        self._bases = [(base, json.loads(base)) for base in bases]

    def __iter__(self) -> Iterator[bytes]:
        """Half with changed values, a third with changed bytes, the rest with both."""
        while True:
            base, document = self._random.choice(self._bases)
            way = self._random.random()
            body = base if way < 1 / 3 else self._with_values(document)
            yield self._with_bytes(body) if not 1 / 3 <= way < 5 / 6 else body

    def _with_values(self, document: Any) -> bytes:
        """The document with one to three values changed, taken away or doubled; it is itself again afterwards."""
        undo = []
        for _ in range(self._random.randint(1, 3)):
            holder, key = self._place(document)
            undo.append((holder, dict(holder) if isinstance(holder, dict) else list(holder)))
            self._change(holder, key)
        body = json.dumps(document).encode()
        for holder, contents in reversed(undo):
            if isinstance(holder, dict):
                holder.clear()
                holder.update(contents)
            else:
                holder[:] = contents
        return body

    def _place(self, document: Any) -> tuple[Any, Any]:
        holder = document
        while True:
            key = self._random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not (isinstance(holder[key], (dict, list)) and holder[key]) or self._random.random() < 0.2:
                return holder, key
            holder = holder[key]

    def _change(self, holder: Any, key: Any) -> None:
        way = self._random.random()
        if way < 0.15 and len(holder) > 1:
            del holder[key]
        elif way < 0.25 and isinstance(holder, dict):
            holder[str(self._random.choice(ODD_VALUES))] = holder[key]
        else:
            holder[key] = copy.deepcopy(self._random.choice(ODD_VALUES))

    def _with_bytes(self, body: bytes) -> bytes:
        """One to three bytes, words or pieces changed."""
        changed = bytearray(body)
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randrange(len(changed) + 1)
            piece = self._random.randrange(1, 40)
            match self._random.randrange(6):
                case 0 if at < len(changed):
                    changed[at] ^= 1 << self._random.randrange(8)
                case 1 if len(changed) > piece:
                    del changed[at : at + piece]
                case 2:
                    changed[at:at] = changed[at : at + piece]
                case 3 if at > 1:
                    del changed[at:]
                case 4:
                    changed[at : at + 1] = self._random.choice(WORDS)
                case _:
                    changed[at:at] = self._random.choice(WORDS)
        return bytes(changed)


def notifications() -> list[bytes]:
    """What is mutated into notifications: small ones mostly, and one with a whole order."""
    small = [vector_bytes("notification_success"), vector_bytes("notification_validate")]
    return [*small * 4, with_object(small[0], vector_bytes("order"))]


def documents() -> list[bytes]:
    """What else the service sends: pages, users and orders by themselves."""
    return [vector_bytes(name) for name in ("transactions", "list", "user")]


def with_object(notification: bytes, order: bytes) -> bytes:
    """The notification about another order; not a testing case."""
    document = json.loads(order) | {"testing_case": ""}
    return json.dumps(json.loads(notification) | {"object": document}).encode()
