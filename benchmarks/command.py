"""A run: the database, the processes, the rounds, and what is written about them."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial

from benchmarks import goals, report
from benchmarks.goals import MEASURED, judge
from benchmarks.options import Options, parse
from benchmarks.product import NotMeasured
from benchmarks.ratios import Figures, Outcome, Round

Measurement = Callable[[], Figures]


def run(options: Options) -> int:
    """Measure, print and write the requested files; return 1 where goals must hold and one is missed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that processes and databases end with us
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        _set_up(options, stack)
        names = list(dict.fromkeys(name for word in options.words for name in MEASURED[word]))
        available = _measurements(options, stack)
        rounds, reasons = measure({name: available[name] for name in names}, options.rounds)
        where = report.Where.here(options, load)
    outcomes = judge(rounds, options.words)
    print(report.text(where, names, rounds, reasons, outcomes))
    if options.json:
        options.json.write_text(report.document(where, rounds, reasons, outcomes), encoding="utf-8")
    return assert_goals(outcomes) if options.must_hold else 0


def assert_goals(outcomes: Sequence[Outcome]) -> int:
    """Name the goals that were missed, and those that were not measured; return 1 where one was missed."""
    for verdict in ("not measured", "MISSED"):
        for outcome in outcomes:
            if outcome.verdict == verdict:
                print(f"{verdict}: {outcome.goal.word}: {outcome.goal.title}", file=sys.stderr)
    return int(any(outcome.verdict == "MISSED" for outcome in outcomes))


def measure(measurements: Mapping[str, Measurement], rounds: int) -> tuple[list[Round], dict[str, str]]:
    """Return the figures of each round, and why some were not measured; one more round before them warms up.

    The measurements of a round follow each other in an order of their own: none has always the same one before it.
    """
    reasons: dict[str, str] = {}
    measured: list[Round] = []
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}" if number else "warming up", file=sys.stderr, flush=True)
        figures: dict[str, Figures] = {}
        names = [name for name in measurements if name not in reasons]
        random.Random(number).shuffle(names)
        for name in names:
            try:
                figures[name] = measurements[name]()
            except NotMeasured as reason:
                reasons[name] = str(reason)
        measured.append(figures)
    return measured[1:], reasons


def _set_up(options: Options, stack: ExitStack) -> None:
    """Load the site in this process, on a database of its own that goes with the run."""
    from benchmarks.processes import SETTINGS, STUB, serving

    os.environ[SETTINGS] = "benchmarks.site.settings"
    os.environ["CHECKOUT_TEST_DATABASE"] = options.database
    os.environ[STUB] = stack.enter_context(serving("benchmarks.stub"))

    import django

    django.setup()
    stack.enter_context(_database())

    from django.apps import apps

    from benchmarks import peer

    if apps.is_installed("djstripe"):
        peer.set_up()


@contextmanager
def _database() -> Iterator[None]:
    from django.db import connection

    from benchmarks.processes import DATABASE

    name = str(connection.settings_dict["NAME"])
    try:
        os.environ[DATABASE] = connection.creation.create_test_db(
            verbosity=0, autoclobber=True, serialize=False
        )
        yield
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def _measurements(options: Options, stack: ExitStack) -> dict[str, Measurement]:
    from benchmarks import admin, backlog, payments, peer, product, sync
    from benchmarks.figures import QUICK, Effort
    from benchmarks.in_process import InProcess
    from benchmarks.over_http import Burst, whole_chain
    from benchmarks.processes import gunicorn, serving
    from benchmarks.reading import slowest

    effort = QUICK if options.quick else Effort()
    effort = replace(effort, many=options.orders or effort.many, shop=options.orders or effort.shop)
    web, alone = (stack.enter_context(gunicorn(runner)) for runner in ("worker", "request"))
    payment, stored = payments.of_new_checkouts, product.stored
    accept = Burst(web, payment, effort, done=stored)
    bare, insert = (Burst(web, partial(payments.of_nothing, path), effort) for path in ("/bare/", "/insert/"))
    here = InProcess(effort)

    return {
        goals.BARE: bare.measure,
        goals.FORGED: Burst(web, payments.forged, effort, status="401").measure,
        goals.INSERT: insert.measure,
        goals.PEER: Burst(web, peer.events, effort, done=peer.handled).measure,
        goals.ACCEPT: accept.measure,
        goals.HALF: accept.measure_half,
        goals.BARE_HALF: bare.measure_half,
        goals.INSERT_HALF: insert.measure_half,
        goals.CHAIN: partial(whole_chain, Burst(web, payment, effort, done=stored)),
        goals.DEFAULT: Burst(alone, payment, effort, done=product.completed).measure,
        goals.INSERT_CPU: here.insert,
        goals.PEER_CPU: here.peer,
        goals.ACCEPT_CPU: here.accept,
        goals.APPLY_1: partial(here.apply, 1),
        goals.APPLY_100: partial(here.apply, 100),
        goals.APPLY_500: partial(here.apply, 500),
        goals.RUN_1: partial(here.run, 1),
        goals.RUN_MANY: partial(here.run, 200),
        goals.READING: slowest,
        # Each round would take minutes and measure the same.
        goals.SIZE: cache(here.size),
        goals.BACKLOG: cache(partial(backlog.drained, effort)),
        goals.ADMIN: cache(partial(admin.measured, effort)),
        **sync.measurements(stack.enter_context(serving("benchmarks.service")), effort),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure in the environment at hand: `python -m benchmarks.command`, for the tests."""
    return run(parse(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
