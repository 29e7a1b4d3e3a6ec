"""``python -m tests.stress.hostile.bombs``: small messages that would grow, to the webhook and in responses to the client.

Prints the outcome of each and the growth of the process at its peak in bytes, as JSON. It is a process of its own, so
that nothing else grows meanwhile.
"""

from __future__ import annotations

import ctypes
import gc
import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.stress.hostile.door import Door

MIB = 1024 * 1024
PAGE = 7 * MIB
Outcome = Callable[[], str]


def main() -> None:
    """Measures one after the other."""
    os.environ["CHECKOUT_TEST_DATABASE"] = "sqlite"
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.db import connection
    from django.test.utils import setup_test_environment

    setup_test_environment()
    name = connection.creation.create_test_db(verbosity=0)
    try:
        measured = {name: grown(run) for name, run in [*receiver_bombs(), *client_bombs()]}
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    print(json.dumps(measured))


def grown(run: Outcome) -> tuple[str, int]:
    """Return the outcome, and the growth of the process's memory at its peak."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier ones left would hide what this one takes
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the highest mark begins anew
    before = memory("VmRSS")
    outcome = run()
    return outcome, memory("VmHWM") - before


def memory(mark: str) -> int:
    """A mark of this process in bytes."""
    found = re.search(rf"{mark}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) * 1024


def answer_to(member: bytes) -> bytes:
    """A notification with one more member in its order, filled up to a mebibyte."""
    return (
        b'{"id":"bomb","event":"payment.success","created_at":"2026-01-01T00:00:00Z","object":{"id":"bomb",'
        + member
        + b"}}"
    )


def filled(begin: bytes, piece: bytes, end: bytes, size: int = MIB - 200) -> bytes:
    """As many pieces as fit."""
    return begin + piece * ((size - len(begin) - len(end)) // len(piece)) + end


JSON_BOMBS = {
    "deep": filled(b'"x":', b"[", b""),
    "deep objects": filled(b'"x":', b'{"a":', b""),
    "a number of nine bytes": b'"x":1e2000000',
    "a long number": filled(b'"x":', b"9", b""),
    "a long text": filled(b'"description":"', b"x", b'"'),
    "a text of escapes": filled(b'"description":"', b"\\u0041", b'"'),
    "a text of NUL": filled(b'"description":"', b"\\u0000", b'"'),
    "many items": filled(b'"items":[', b"{},", b"{}]"),
    "many numbers": filled(b'"x":[', b"0.1,", b"0]"),
    "many lists": filled(b'"x":[', b"[],", b"[]]"),
    "many equal keys": filled(b'"metadata":{', b'"a":"b",', b'"c":"d"}'),
    "many keys": b'"metadata":{' + b",".join(b'"%d":""' % number for number in range(90_000)) + b"}",
    "as many items as are read": b'"items":[' + b"{}," * 9_000 + b"{}]",
}


def receiver_bombs() -> Iterator[tuple[str, Outcome]]:
    """Signed, as only the service itself could send them."""
    from tests.stress.hostile.door import Door

    door = Door()
    zeros = gzip.compress(bytes(50 * MIB))
    for name, body, encoding in (
        ("gzip", zeros, "gzip"),
        ("gzip of gzip", gzip.compress(zeros), "gzip"),
        ("gzip twice", gzip.compress(zeros), "gzip, gzip"),
        *((name, answer_to(member), "") for name, member in JSON_BOMBS.items()),
    ):
        yield (
            f"receiver: {name}",
            partial(sent, door, body, encoding),
        )


def sent(door: Door, body: bytes, encoding: str) -> str:
    """The status of a body."""
    return str(door.send(body, encoding=encoding))


def client_bombs() -> Iterator[tuple[str, Outcome]]:
    """In responses to the client, whatever their status."""
    from tests.support.client.calls import CALLS
    from tests.support.client.stub import http

    zeros = gzip.compress(bytes(50 * MIB))
    page = b'{"count":1,"items":['
    answers = {
        "gzip": http(200, zeros, Content_Encoding="gzip"),
        "gzip of gzip": http(200, gzip.compress(zeros), Content_Encoding="gzip"),
        "gzip twice": http(200, gzip.compress(zeros), Content_Encoding="gzip, gzip"),
        "gzip in an error": http(500, zeros, Content_Encoding="gzip"),
        "gzip in a redirect": http(302, zeros, Content_Encoding="gzip", Location="http://127.0.0.1:1/"),
        "many rows": packed(filled(page, b"{},", b"{}]}", PAGE)),
        "many numbers": packed(filled(page, b"0.1,", b"0]}", PAGE)),
        "deep": packed(filled(page, b"[", b"", PAGE)),
        "a number of nine bytes": packed(b'{"count":1e2000000,"items":null}'),
    }
    for name, answer in answers.items():
        for kind in CALLS if name == "gzip" else ["list"]:
            call = CALLS[kind]
            yield f"client, {kind}: {name}", partial(called, call, answer)


def packed(body: bytes) -> bytes:
    """A response of few bytes."""
    from tests.support.client.stub import http

    return http(200, gzip.compress(body), Content_Encoding="gzip")


def called(call: Callable[..., object], answer: bytes) -> str:
    """The name of the error with which a call ends, "data" where it brings some."""
    from checkout_integration.client import Client
    from checkout_integration.client.errors import CheckoutError
    from tests.client.conftest import config_for
    from tests.support.client.stub import running

    with running(answer) as stub, Client(config_for(stub.url)) as client:
        try:
            call(client)
        except CheckoutError as error:
            return type(error).__name__
    return "data"


if __name__ == "__main__":
    main()
