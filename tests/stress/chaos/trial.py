"""One trial: start everything, harm it while notifications arrive, wait until it is idle, audit it, check that it works."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from types import FrameType

from django.db import connections

from tests.stress.chaos.audit import compare
from tests.stress.chaos.names import BULK, BULK_SECRET, EFFECTS_TABLE
from tests.stress.chaos.parts import await_true
from tests.stress.chaos.places import Places
from tests.stress.chaos.plan import Plan
from tests.stress.chaos.report import Result, say
from tests.stress.chaos.servers import Postgres, ServerMissing
from tests.stress.chaos.shop_parts import Running, await_ready, running
from tests.stress.chaos.stories import AMOUNT, CURRENCY, Author
from tests.stress.chaos.storm import Storm
from tests.stress.chaos.traffic import Traffic

DRAINED_WITHIN = 120.0
SPARE = 25.0
"""Seconds of the trial's minutes that are kept for starting, draining and the audit."""
PROBES = 5


def run(plan: Plan, *, as_json: bool, keep: bool) -> int:
    """Run a trial and print its result; returns the exit code."""
    signal.signal(signal.SIGTERM, _end)
    folder = Path(tempfile.mkdtemp(prefix="checkout-chaos-"))
    folder.chmod(0o755)  # the database runs as another user
    places = Places.free(folder)
    os.environ.update(places.environment(armed=False))
    try:
        result = _trial(plan, places)
    except ServerMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    finally:
        if keep:
            say(f"logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    result.show(as_json=as_json)
    return 1 if result.problems else 0


def _trial(plan: Plan, places: Places) -> Result:
    author = Author(plan.seed)
    references = author.references(plan.acknowledged + 500)
    begun = time.monotonic()
    with running(places, lambda postgres: prepare(postgres, references)) as shop:
        say(f"everything runs after {time.monotonic() - begun:.0f} s")
        rate = 1.15 * plan.acknowledged / (plan.seconds - SPARE)
        probes, sold = references[: 2 * PROBES], references[2 * PROBES :]
        with Traffic(places.webhook_url(BULK), BULK_SECRET, author.stories(sold), rate) as traffic:
            trial = _Trial(plan, shop, traffic, author)
            trial.phase("crash points", trial.storm.burn_fuses)
            trial.phase("storm", lambda: trial.storm.rage(begun + plan.seconds - SPARE))
            trial.probe(probes)
            return trial.result()


class _Trial:
    """The phases of one trial, and what they found."""

    def __init__(self, plan: Plan, shop: Running, traffic: Traffic, author: Author) -> None:
        # Only now: its modules need Django set up.
        from tests.stress.chaos.buyers import Buyers

        self.storm = Storm(shop, traffic, plan)
        self._plan = plan
        self._shop = shop
        self._traffic = traffic
        self._author = author
        self._buyers = Buyers(shop.places.service_url, plan.seed)
        self._problems = self.storm.done.problems
        self._seen: set[str] = set()
        self._drained: dict[str, float] = {}
        self._totals: dict[str, int] = {}

    def phase(self, name: str, harm: Callable[[], None]) -> None:
        """Send notifications during `harm`; then everything must become idle by itself and agree with the truth."""
        try:
            with self._buyers.buying(), self._traffic.flowing():
                harm()
        except TimeoutError as error:
            self._problems.append(f"{name}: {error}")
        self._settle(name)

    def probe(self, references: Sequence[str]) -> None:
        """See that everything runs, and that Celery alone and `checkout_work` alone still work after all this."""
        shop, half = self._shop, len(references) // 2
        try:
            await_ready(shop)
        except TimeoutError as error:
            self._problems.append(str(error))
        shop.worker.stop()
        self._settle("Celery alone", references[:half])
        shop.celery.stop()
        shop.beat.stop()
        shop.worker.start()
        self._settle("checkout_work alone", references[half:])

    def result(self) -> Result:
        """Return actions and findings; too few actions are a problem too."""
        done, ledger, plan = self.storm.done, self._traffic.ledger, self._plan
        for what, least, was in (
            ("kills", plan.kills, done.kills.total()),
            ("database crashes", plan.database_crashes, done.database_crashes),
            ("broker kills", plan.broker_kills, done.broker_kills),
            ("acknowledged notifications", plan.acknowledged * plan.is_full, len(ledger.acknowledged)),
        ):
            if was < least:
                self._problems.append(f"only {was} {what} of {least}")
        for status in set(ledger.answers) - {200, 503, 0}:
            self._problems.append(f"{ledger.answers[status]} answers of {status}")
        if ledger.hung:
            self._problems.append(f"{ledger.hung} requests were not answered in time")
        figures: dict[str, object] = {
            "seed": plan.seed,
            "kills": {**done.kills, "in all": done.kills.total()},
            "kills at crash points": dict(done.points),
            "database crashes": done.database_crashes,
            "broker kills": done.broker_kills,
            "failovers": done.failovers,
            "restarted": dict(self._shop.watchman.restarted),
            "stories": len(ledger.stories),
            "acknowledged notifications": len(ledger.acknowledged),
            "answers by status": {str(status): count for status, count in sorted(ledger.answers.items())},
            "longest until acknowledged": round(ledger.slowest, 1),
            "longest answer": round(ledger.longest_answer, 1),
            "longest until the database was used again": round(max(done.back_after, default=0.0), 1),
            "checkouts through the sandbox": len(self._buyers.bought),
            "checkouts left unpaid": len(self._buyers.left),
            "checkouts that could not begin": dict(self._buyers.turned_away),
            "drained after": self._drained,
            **self._totals,
        }
        return Result(figures=figures, problems=self._problems)

    def _settle(self, name: str, probes: Sequence[str] = ()) -> None:
        """Send the probes, wait until all work is done, and compare."""
        from tests.stress.chaos import reading

        connections.close_all()
        begun = time.monotonic()
        try:
            for reference in probes:
                self._traffic.tell(self._author.plain(reference))
            self._traffic.await_acknowledged(DRAINED_WITHIN)
            served = self._buyers.served(DRAINED_WITHIN)
            left = set(self._buyers.left)
            await_true("who left is reminded", lambda: reading.all_reminded(left), DRAINED_WITHIN)
            await_true("everything is drained", reading.all_done, DRAINED_WITHIN)
        except TimeoutError as error:
            self._problems.append(f"{name}: {error}")
            served = self._buyers.served(0.0, whatever=True)
        self._drained[name] = round(time.monotonic() - begun, 1)
        found = reading.read()
        ledger = self._traffic.ledger
        differences = compare(ledger.stories, ledger.acknowledged.values(), served, found)
        # What one phase left behind is still there after the next.
        fresh = [each for each in differences if str(each) not in self._seen]
        self._seen |= {str(each) for each in fresh}
        self._problems += [f"{name}: {difference}" for difference in fresh]
        self._totals = {
            "notifications stored": len(found.notifications),
            "orders": len(found.orders),
            "runs": len(found.runs),
            "superseded": sum(state == "superseded" for *_, state in found.runs),
            "effects": len(found.effects),
        }
        say(f"{name}: at rest after {self._drained[name]:.1f} s; {len(fresh) or 'no'} new differences")


def prepare(postgres: Postgres, references: Sequence[str]) -> None:
    """Set Django up in this process, make the shop's tables, and the checkouts of the stories."""
    import django

    django.setup()
    from django.core.management import call_command

    from checkout_integration.models import Checkout

    call_command("migrate", verbosity=0, interactive=False)
    with postgres.connect() as connection:
        connection.execute(EFFECTS_TABLE)
    checkouts = (
        Checkout(
            reference=reference,
            project=BULK,
            type="simple",
            expected_amount=Decimal(AMOUNT),
            currency=CURRENCY,
        )
        for reference in references
    )
    Checkout.objects.bulk_create(checkouts, batch_size=2000)


def _end(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(143)
