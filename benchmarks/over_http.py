"""What is measured through a real server: requests per second, latencies, and the processor time of every process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks import cpu, product
from benchmarks.figures import DatabaseClock, Effort, costs
from benchmarks.load import send
from benchmarks.messages import Message
from benchmarks.processes import Server, worker

PATIENCE = 600.0


class Burst:
    """A burst of requests to one address: as many as the server will answer in a few seconds, as far as the last one showed.

    `done` counts what the server has done: what still goes on after the responses is waited for, so that its costs count too.
    """

    def __init__(
        self,
        server: Server,
        make: Callable[[int], Sequence[Message]],
        effort: Effort,
        *,
        status: str = "200",
        done: Callable[[], int] | None = None,
    ) -> None:
        self.highest = 0.0
        self._server, self._make, self._effort = server, make, effort
        self._status, self._done = status, done

    def measure_half(self) -> dict[str, float]:
        """Send a burst at half of the highest rate."""
        if not self.highest:
            self.measure()  # the first round may begin with this one
        return self.measure(self.highest / 2)

    def measure(self, rate: float = 0.0) -> dict[str, float]:
        """Send a burst, and return what it showed. ``rate``: how many each second; without it, as many as are answered."""
        product.empty()
        messages = self._make(self._effort.requests(rate or self.highest))
        workers = self._server.workers()
        web, database = cpu.read(workers), DatabaseClock()
        load = send(self._server.port, [message.as_http() for message in messages], rate)
        if set(load.statuses) != {self._status}:
            raise RuntimeError(f"{messages[0].path} answered {load.statuses} instead of {self._status}")
        done, seconds = len(messages), load.seconds
        if self._done:
            # What is done after the responses takes its time too: the rate is that of payments, not of answers.
            answered = time.perf_counter()
            done = _await_rest(self._done, len(messages))
            seconds += time.perf_counter() - answered
        if not done:
            raise RuntimeError(f"{messages[0].path} has done nothing, though it answered {self._status}")
        self.highest = self.highest if rate else len(messages) / load.seconds
        return {
            **costs(cpu.spent(web, cpu.read(workers)), database.seconds(), done),
            "done": done,
            "left": len(messages) - done,
            "rate": done / seconds,
            "p50": load.p50,
            "p99": load.p99,
        }


def _await_rest(count_done: Callable[[], int], count: int) -> int:
    """Wait until so many are done, or nobody goes on; return how many are."""
    done, ends_at = count_done(), time.monotonic() + 1.0
    while done < count and time.monotonic() < ends_at:
        time.sleep(0.05)
        before, done = done, count_done()
        ends_at = ends_at if done == before else time.monotonic() + 1.0
    return done


def whole_chain(burst: Burst) -> dict[str, float]:
    """Accept payments with nothing else running, then let one worker process apply them and run their receiver."""
    accepted = burst.measure()
    count = int(accepted["done"])
    with worker(product.WORKER) as process:
        database, before, begun = DatabaseClock(), cpu.read([process.pid]), time.perf_counter()
        _await_completed(count)
        seconds = time.perf_counter() - begun
        working = cpu.spent(before, cpu.read([process.pid]))
        spent = costs(working, database.seconds(), count)
    figures = {
        "accept rate": accepted["rate"],
        "worker rate": count / seconds,
        "web": accepted["python"],
        "worker": spent["python"],
    }
    return {**figures, **{name: accepted[name] + spent[name] for name in spent}}


def _await_completed(count: int) -> None:
    ends_at = time.monotonic() + PATIENCE
    while (done := product.completed()) < count:
        if time.monotonic() > ends_at:
            raise RuntimeError(f"the worker has run {done} of {count} receivers in {PATIENCE:.0f} s")
        time.sleep(0.1)
