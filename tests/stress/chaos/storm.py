"""Harm during the arrival of notifications: random kills, crashes of the database, loss of the broker, a failover."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.stress.chaos.parts import await_true, kill
from tests.stress.chaos.plan import Plan
from tests.stress.chaos.report import say
from tests.stress.chaos.shop.crash_points import ALL, CrashPoint
from tests.stress.chaos.shop_parts import Running
from tests.stress.chaos.traffic import Traffic

VICTIMS: Final = {
    "web worker": 75,
    "celery child": 16,
    "web parent": 2,
    "celery parent": 3,
    "checkout_work": 4,
}
"""Parents seldom: while they start again nobody serves, and what is not at work cannot be caught in the act."""
AWAY: Final = (0.2, 1.5)
"""Seconds for which a crashed database or broker stays away."""
READ_ONLY_SECONDS: Final = 3.0
FUSE_BURNS_WITHIN: Final = 40.0
SEEN_WITHIN: Final = 30.0


@dataclass
class Done:
    """Actions of the storm, and their observed effects."""

    kills: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    database_crashes: int = 0
    broker_kills: int = 0
    failovers: int = 0
    back_after: list[float] = field(default_factory=list)
    """Seconds from the database's return to the first notification that was acknowledged."""
    problems: list[str] = field(default_factory=list)


class Storm:
    """One trial's harm, in an order and at moments that its seed decides."""

    def __init__(self, shop: Running, traffic: Traffic, plan: Plan) -> None:
        self.done = Done()
        self._shop = shop
        self._traffic = traffic
        self._plan = plan
        self._chance = random.Random(plan.seed)
        self._watchers: list[threading.Thread] = []
        self._victims = self._chosen_victims()

    def burn_fuses(self) -> None:
        """Kill a process at each named place, as often as the plan says, one at a time."""
        for point in ALL:
            for _ in range(self._plan.repeats):
                self._burn(point)
            say(f"{point.name}: {self.done.points[point.name]} kills")

    def rage(self, until: float) -> None:
        """Do everything in the plan, spread over the remaining time; on a slow machine the time is extended."""
        begun = time.monotonic()
        until = max(until, begun + self._plan.seconds / 2)
        acts = self._acts()
        for number, (at, act) in enumerate(acts):
            moment = begun + at * (until - begun)
            time.sleep(max(0.0, moment - time.monotonic()))
            act()
            if number % max(1, len(acts) // 10) == 0:
                self._tell(time.monotonic() - begun)
        for watcher in self._watchers:
            watcher.join()

    def _acts(self) -> list[tuple[float, Callable[[], None]]]:
        """Return the actions with their times, as fractions: each kind evenly spread, with jitter."""
        plan = self._plan
        kinds: list[tuple[Callable[[], None], int]] = [
            (self._kill_one, plan.kills),
            (self._crash_database, plan.database_crashes),
            (self._kill_broker, plan.broker_kills),
            (self._fail_over, plan.failovers),
        ]
        return sorted(
            (((each + self._chance.random()) / count, act) for act, count in kinds for each in range(count)),
            key=lambda planned: planned[0],
        )

    def _burn(self, point: CrashPoint) -> None:
        fuse = self._shop.places.fuses / point.fuse
        fuse.touch()
        try:
            await_true(point.name, lambda: not fuse.exists(), FUSE_BURNS_WITHIN)
        except TimeoutError as error:
            self.done.problems.append(f"nobody came by the crash point {error}")
            fuse.unlink(missing_ok=True)
            return
        self.done.points[point.name] += 1

    def _kill_one(self) -> None:
        """Kill one process of a kind; wait a while if its parent is still starting."""
        for victim in self._victims:
            deadline = time.monotonic() + SEEN_WITHIN
            while time.monotonic() < deadline:
                if any(kill(pid) for pid in self._processes(victim)[:1]):
                    self.done.kills[victim] += 1
                    return
                time.sleep(0.05)

    def _chosen_victims(self) -> Iterator[str]:
        """Yield each kind once, then by weight, without end."""
        kinds, weights = list(VICTIMS), list(VICTIMS.values())
        yield from self._chance.sample(kinds, len(kinds))
        while True:
            yield self._chance.choices(kinds, weights)[0]

    def _processes(self, victim: str) -> list[int]:
        shop = self._shop
        found = {
            "web worker": shop.web.children(),
            "celery child": shop.celery.children(),
            "web parent": [shop.web.pid],
            "celery parent": [shop.celery.pid],
            "checkout_work": [shop.worker.pid],
        }[victim]
        living = [pid for pid in found if pid]
        self._chance.shuffle(living)
        return living

    def _crash_database(self) -> None:
        self._shop.postgres.crash_and_restart(self._chance.uniform(*AWAY))
        self.done.database_crashes += 1
        self._await_acknowledgement("the database's return")

    def _kill_broker(self) -> None:
        broker = self._shop.redis
        if kill(broker.pid):  # the watchman starts it again
            self.done.broker_kills += 1
        await_true("the broker is back", self._shop.redis_answers, SEEN_WITHIN)

    def _fail_over(self) -> None:
        """Let the database write nothing for a while: no notification may be acknowledged then."""
        self._shop.postgres.set_read_only(True)
        time.sleep(1.0)  # sessions hear of it when they are idle
        before = self._traffic.tally()
        time.sleep(READ_ONLY_SECONDS)
        try:
            await_true("503", lambda: self._traffic.tally()[503] > before[503], SEEN_WITHIN)
        except TimeoutError:
            self.done.problems.append("nobody was answered 503 by a read-only database")
        during = self._traffic.tally() - before
        self._shop.postgres.set_read_only(False)
        self.done.failovers += 1
        if during[200]:
            self.done.problems.append(f"{during[200]} notifications acknowledged by a read-only database")
        self._await_acknowledgement("the end of a failover")

    def _await_acknowledgement(self, after: str) -> None:
        """Measure, beside the storm, when the first notification is acknowledged again."""
        watcher = threading.Thread(target=self._see_acknowledgement, args=(after,), name=after, daemon=True)
        self._watchers.append(watcher)
        watcher.start()

    def _see_acknowledgement(self, after: str) -> None:
        begun, before = time.monotonic(), self._traffic.tally()[200]
        try:
            await_true("acknowledged", lambda: self._traffic.tally()[200] > before, SEEN_WITHIN)
        except TimeoutError:
            self.done.problems.append(
                f"no notification was acknowledged within {SEEN_WITHIN:.0f} s of {after}"
            )
        self.done.back_after.append(time.monotonic() - begun)

    def _tell(self, seconds: float) -> None:
        done = self.done
        say(
            f"{seconds:4.0f} s: {done.kills.total()} kills, {done.database_crashes} database crashes, "
            f"{done.broker_kills} broker kills, {len(self._traffic.ledger.acknowledged)} acknowledged"
        )
