"""How much is measured at a time, and the figures that processor time gives."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import cpu

MICROSECONDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured at a time.

    Over HTTP: requests for `seconds`, at `least` and at `most` so many. In process: payments one by one (`alone`) or
    `batched`. `stored` payments are in the tables whose size is measured. `few` and `many` orders are in the lists, `few` and
    `shop` in the admin of a small and of a large shop.
    """

    seconds: float = 3.0
    least: int = 60
    most: int = 5_000
    alone: int = 100
    batched: int = 500
    stored: int = 10_000
    few: int = 10_000
    many: int = 100_000
    shop: int = 1_000_000

    def requests(self, rate: float) -> int:
        """Return how many requests to send at this rate per second."""
        return max(self.least, min(self.most, round(rate * self.seconds)))


QUICK = Effort(seconds=0.0, least=16, alone=3, batched=20, stored=20, few=120, many=240, shop=1_200)


def costs(python: float, database: float | None, count: int) -> dict[str, float]:
    """Return microseconds each of Python and, where it can be seen, of the database and of both."""
    figures: dict[str, float] = {"python": python / count * MICROSECONDS}
    if database is not None:
        figures["database"] = database / count * MICROSECONDS
        figures["total"] = figures["python"] + figures["database"]
    return figures


class DatabaseClock:
    """Processor time of the database since this was made."""

    def __init__(self) -> None:
        self._processes = cpu.database_processes()
        self._before = cpu.read(self._processes or ())

    def seconds(self) -> float | None:
        """Return it, None where the server's processes cannot be seen."""
        processes = cpu.database_processes()
        if self._processes is None or processes is None:
            return None
        return cpu.spent(self._before, cpu.read(processes))


def timed(work: Callable[[], object], count: int) -> dict[str, float]:
    """Return what it costs this process and the database to do a work that handles so many."""
    gc.collect()
    database, begun = DatabaseClock(), time.process_time()
    work()
    python = time.process_time() - begun
    return costs(python, database.seconds(), count)
