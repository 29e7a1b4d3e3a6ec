"""One reading of a list, in a process of its own, so that its memory is its own: `python -m benchmarks.reader WHO COUNT`.

Prints its figures as JSON. `WHO` is one of `READERS`; what they read is in the environment, as the settings have it.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from http.client import HTTPConnection
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any
from urllib.parse import urlsplit

PAGE = 100
MEGABYTE = 1_000_000
COPIED = ("created_at", "status", "amount", "currency")


def ours() -> None:
    """Read everything by our command."""
    from django.core.management import load_command_class

    words = ["--lane", "all", "--skip-checks"]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        command = load_command_class("checkout_integration", "checkout_sync")
        command.run_from_argv(["manage.py", "checkout_sync", *words])


def peer() -> None:
    """Read all charges by dj-stripe's command, which prints a line for each."""
    from django.core.management import call_command

    from benchmarks.stub import API_KEY

    with Path(os.devnull).open("w") as nowhere:
        call_command(
            "djstripe_sync_models", "Charge", "--api-keys", API_KEY, "--fail-on-error", stdout=nowhere
        )


def copy() -> None:
    """Copy each page into a table as it comes, with nothing checked: what nobody can do without."""
    from django.db import connection

    from benchmarks.site.models import CopiedOrder

    columns = f"order_id, {', '.join(COPIED)}, document"
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {CopiedOrder._meta.db_table} ({columns}) FROM STDIN") as rows,
    ):
        for document, text in _listed():
            rows.write_row([document["id"], *map(document.get, COPIED), text])


def _listed() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each order of the list, and its text."""
    from django.conf import settings

    address = urlsplit(settings.CHECKOUT_INTEGRATION["LIST_URL"])
    connection = HTTPConnection(address.netloc)
    decode, offset, found = json.JSONDecoder().raw_decode, 0, PAGE
    while found == PAGE:
        connection.request("GET", f"{address.path}/merchant/s2s/api/v1/order?limit={PAGE}&offset={offset}")
        text = gzip.decompress(connection.getresponse().read()).decode()
        position, found = text.index("[") + 1, 0
        while text[position] != "]":
            begin = position + (text[position] == ",")
            document, position = decode(text, begin)
            yield document, text[begin:position]
            found += 1
        offset += found


READERS = {reader.__name__: reader for reader in (ours, peer, copy)}


def main(who: str, count: int) -> dict[str, float]:
    """Let one of them read so many orders; return its figures."""
    import django

    django.setup()

    from benchmarks.figures import DatabaseClock, costs

    database, python, begun = DatabaseClock(), _processor_time(), time.perf_counter()
    READERS[who]()
    seconds = time.perf_counter() - begun
    spent = costs(_processor_time() - python, database.seconds(), count)
    return {**spent, "rate": count / seconds, "orders": count, **_memory()}


def _processor_time() -> float:
    """Return the seconds that this process has worked, and those that it started and that have ended."""
    return sum(os.times()[:4])


def _memory() -> dict[str, float]:
    """Return the most megabytes that one of these processes had in memory, nothing where the system does not show it."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    most = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    kilobytes = max(int(most), getrusage(RUSAGE_CHILDREN).ru_maxrss) if most else 0
    return {"memory": kilobytes * 1024 / MEGABYTE} if most else {}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
