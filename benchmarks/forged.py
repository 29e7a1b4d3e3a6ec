"""``python -m benchmarks.forged``: how fast forgeries are refused, beside a bare view that reads the body and answers.

One gunicorn worker (two threads, Django's usual middleware, SQLite) gets the same requests for both views over two open
connections. Rounds of the two alternate, so that a busy machine slows both; the median of the rounds' ratios is what is
claimed. ``--assert 0.6`` exits 1 below that ratio. Runs in the tests' environment.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HOST = "slashes not appended"
VIEWS = {"/desk/bare/": b"200", "/checkout/webhook/": b"401"}


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Requests per second, and microseconds of the worker's CPU for each."""

    rate: float
    cpu: float


def main() -> int:
    """Measures, prints, and compares with what was asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--assert", dest="least", type=float, default=0.0)
    options.add_argument("--requests", type=int, default=1_000)
    options.add_argument("--rounds", type=int, default=9)
    asked = options.parse_args()
    rounds = measure(asked.requests, asked.rounds)
    for path in VIEWS:
        rate = statistics.median(each[path].rate for each in rounds)
        cpu = statistics.median(each[path].cpu for each in rounds)
        print(f"{path:20} {rate:7.0f} requests/s   {cpu:6.0f} us of CPU each")
    bare, ours = VIEWS
    ratio = statistics.median(each[ours].rate / each[bare].rate for each in rounds)
    work = statistics.median(each[bare].cpu / each[ours].cpu for each in rounds)
    print(f"forgeries are refused at {ratio:.2f} of the bare view's rate ({work:.2f} by CPU)")
    return 0 if ratio >= asked.least else 1


def measure(requests: int, rounds: int) -> list[dict[str, Cost]]:
    """Costs by path, a dictionary a round; the first round warms up and is left out."""
    from tests.hosts.running import migrate, running

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        migrate(HOST, folder, f"{name}/host.sqlite3")
        with running(HOST, "threads", folder, f"{name}/host.sqlite3", "") as host:
            return [{path: _cost(host, path, requests) for path in VIEWS} for _ in range(rounds + 1)][1:]


def _cost(host: object, path: str, requests: int) -> Cost:
    from tests.flows.shop import notification
    from tests.hosts.flood import cpu_seconds, flood, request_bytes, worker_of
    from tests.hosts.running import Running
    from tests.views.wire import body_of

    assert isinstance(host, Running)
    host.statements()  # it is up
    sent = [request_bytes(path, body_of(notification()))] * (requests // 2)
    worker = worker_of(host)
    begun, worked = time.perf_counter(), cpu_seconds(worker)
    with ThreadPoolExecutor(2) as senders:
        statuses = set().union(*senders.map(lambda _: flood(host, sent), range(2)))
    taken, worked = time.perf_counter() - begun, cpu_seconds(worker) - worked
    assert statuses == {VIEWS[path]}, statuses
    return Cost(rate=requests / taken, cpu=worked / requests * 1e6)


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    sys.exit(main())
