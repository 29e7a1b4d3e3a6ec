"""`python3 -m tests.stress.chaos.outage`: the broker is away while notifications come in, and then it is back.

At first its port is closed, then it accepts connections and never responds. Celery alone has to run what was left. The
trial's own Redis and PostgreSQL are used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.stress.chaos.names import BULK, BULK_SECRET
from tests.stress.chaos.parts import await_true
from tests.stress.chaos.places import Places
from tests.stress.chaos.shop_parts import Running, running
from tests.stress.chaos.stories import Author
from tests.stress.chaos.traffic import Traffic
from tests.stress.chaos.trial import prepare

DRAINED_WITHIN = 300.0
CELERY_CHILDREN = 4
"""The one receiver that has all the work may hold half of the slots."""
Figures = dict[str, float | int | str]


class TimedTraffic(Traffic):
    """Traffic that remembers how long each response took."""

    seconds: list[float]
    _remembering = threading.Lock()

    def _post(self, body: bytes) -> int:
        begun = time.monotonic()
        status = super()._post(body)
        with self._remembering:
            self.seconds.append(time.monotonic() - begun)
        return status


def outage(seconds: float, rate: float) -> tuple[Figures, list[str]]:
    """Run the trial; return the figures and the problems."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(_folder()))
        places = Places.free(folder)
        os.environ.update(places.environment(armed=False))
        author = Author(1)
        references = author.references(int(seconds * rate * 1.2) + 100)
        shop = stack.enter_context(
            running(places, lambda postgres: prepare(postgres, references), CELERY_CHILDREN)
        )
        shop.worker.stop()
        stories = (author.plain(reference) for reference in references)
        traffic = TimedTraffic(places.webhook_url(BULK), BULK_SECRET, stories, rate)
        traffic.seconds = []
        return _outage(shop, stack.enter_context(traffic), seconds)


def _outage(shop: Running, traffic: TimedTraffic, seconds: float) -> tuple[Figures, list[str]]:
    from tests.stress.chaos import reading

    with traffic.flowing():
        _await_effects(5)
        shop.redis.stop()
        refused = _latency(traffic, seconds / 2)
        with black_hole(shop.places.redis):
            unanswered = _latency(traffic, seconds / 2)
    left = reading.left_undone()
    problems = (
        [] if _is_behind(seconds / 2) else ["the queue's state did not tell of the oldest that was left"]
    )
    shop.redis.start()
    returned_at = time.monotonic()
    try:
        await_true("Celery has drained", reading.all_done, DRAINED_WITHIN)
    except TimeoutError as error:
        problems.append(str(error))
    drained_after = time.monotonic() - returned_at
    if _is_behind(seconds / 2):
        problems.append("the queue's state still tells of something left")
    figures: Figures = {
        "acknowledged": len(traffic.ledger.acknowledged),
        "answers": ", ".join(f"{count} of {status}" for status, count in traffic.ledger.answers.items()),
        "left at the return": left,
        "drained after": round(drained_after, 1),
        "p99 with nobody listening": refused,
        "p99 with a black hole": unanswered,
        "slowest answer": round(max(traffic.seconds), 3),
        "restarted": str(dict(shop.watchman.restarted)),
    }
    return figures, problems + _wrong(traffic)


def _wrong(traffic: TimedTraffic) -> list[str]:
    """Compare acknowledged notifications with receiver runs, and the responses with the permitted ones."""
    from tests.stress.chaos import reading

    effects = [order for _key, signal, order in reading.read().effects if signal == "checkout_paid"]
    sent = {message.order_id for message in traffic.ledger.acknowledged.values()}
    problems = []
    if sorted(effects) != sorted(sent):
        problems.append(f"{len(effects)} effects, {len(set(effects))} different, for {len(sent)} payments")
    if set(traffic.ledger.answers) != {200}:
        problems.append("not every answer was 200")
    return problems


def _await_effects(count: int) -> None:
    from tests.stress.chaos import reading

    await_true("Celery works before the outage", lambda: len(reading.read().effects) >= count, 60.0)


def _latency(traffic: TimedTraffic, seconds: float) -> float:
    """Let traffic flow, and return the time within which 99 of 100 responses came."""
    before = len(traffic.seconds)
    time.sleep(seconds)
    taken = sorted(traffic.seconds[before:])
    return round(taken[int(len(taken) * 0.99)], 3)


def _is_behind(seconds: float) -> bool:
    from checkout_integration.flows.operations import queue_state

    queue = queue_state()
    return queue.oldest_seconds > seconds or queue.overdue > 0


@contextmanager
def black_hole(port: int = 0) -> Iterator[int]:
    """A port of this machine that accepts no connection: its backlog is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@contextmanager
def _folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="checkout-outage-")
    Path(folder).chmod(0o755)  # the database runs as another user
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run it as the words say; prints the figures as JSON and returns 1 when something went wrong."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.stress.chaos.outage", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long the broker is away (600)")
    parser.add_argument("--rate", type=float, default=50.0, help="notifications a second (50)")
    parser.add_argument(
        "--p99",
        type=float,
        help="seconds within which 99 of 100 are to be answered (no bound; the goal is 0.25)",
    )
    chosen = parser.parse_args()
    figures, problems = outage(chosen.seconds, chosen.rate)
    for name in ("p99 with nobody listening", "p99 with a black hole"):
        if chosen.p99 is not None and float(figures[name]) > chosen.p99:
            problems.append(f"{name}: {figures[name]} s")
    print(json.dumps({"figures": figures, "problems": problems}, indent=1))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
