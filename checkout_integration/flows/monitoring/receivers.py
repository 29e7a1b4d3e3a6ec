"""Findings about receivers and goods: which fail, were given up, or are known to no process; what is paid and not granted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, F, Manager, Min, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import Command
from checkout_integration.flows.monitoring.backlog import LONGEST_LEFT, MOST_COUNTED, shown_count
from checkout_integration.flows.monitoring.finding import (
    Figure,
    Finding,
    Kind,
    Rows,
    listed,
    seconds_of,
    span,
)
from checkout_integration.flows.outbox import ABSENT_AFTER, UNFINISHED, Remembered, is_absent, read_receivers
from checkout_integration.models import FailedAttempt, Grant, Order, OutboxMessage, ReceiverRun
from checkout_integration.models.outbox import waited_for
from checkout_integration.policy.severity import Severity
from checkout_integration.signals import checkout_paid, payment_success

SEVERAL: Final = 3
"""A receiver that failed for as many of the last customers, and for nobody else since, fails for everybody."""
LONG: Final = timedelta(seconds=LONGEST_LEFT)
FRESH: Final = timedelta(days=7)
"""For how long a run that was given up is failing. After that it is a warning, so that a monitor does not stay red."""
MOST_READ: Final = 500
"""How many failing runs of each state are read."""
MOST_LOOKED_AT: Final = 1_000
"""How many unfinished runs of each state are read for the orders that are paid and not granted."""
NEWEST: Final = 1_000
"""How many of the last finished runs are searched for one that a failing receiver has completed."""
State = ReceiverRun.State
FAILURES: Final = Rows(model="failures")
"""The page that groups what failed by the shop's code and the place of the error."""
FAILING: Final = Kind(
    name="receivers_failing",
    title=gettext_lazy("Code of the shop that fails"),
    rows=FAILURES,
)
GIVEN_UP: Final = Kind(
    name="receivers_given_up",
    title=gettext_lazy("Code of the shop that was given up"),
    rows=FAILURES,
)
NOT_GRANTED: Final = Kind(
    name="not_granted",
    title=gettext_lazy("Paid, not granted"),
    rows=Rows(model="order", filters={"queue": "not_granted"}),
)


def receiver_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield which receivers fail and were given up, and what is paid and not granted, for all projects together."""
    yield _failing(now)
    yield _given_up(now)
    yield _not_granted(now)


SEE_TO_IT: Final = gettext_lazy(
    "What this code waits for has not come in time. See to it, then run it again on the page of failures; or let it "
    "wait for longer, by the patience of its RetryPlan."
)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A receiver that fails: for how many customers, since when, with which error, and whether it fails for everybody.

    ``waited``: what it waits for has not come (`RetryLater`); nothing is wrong with the code.
    """

    receiver: str
    customers: int
    since: datetime
    error: str
    for_all: bool
    waited: bool

    @property
    def text(self) -> str:
        """What is the case."""
        text = _("%(receiver)s has failed for %(n)s customers in %(span)s (%(error)s)")
        if self.for_all:
            text = _("%(receiver)s has failed for each of the last %(n)s customers in %(span)s (%(error)s)")
        elif self.customers == 1:
            text = _("%(receiver)s has failed for one customer in %(span)s (%(error)s)")
        age = (datetime.now(UTC) - self.since).total_seconds()
        n = shown_count(self.customers, MOST_READ)
        return text % {"receiver": self.receiver, "n": n, "span": span(age), "error": self.error}


def _failing(now: datetime) -> Finding:
    keys = _failing_runs(now)
    if not keys:
        return FAILING.found(_("No code of the shop fails."), figures={"failing": 0})
    failures = sorted(_failures(keys), key=lambda each: (not each.for_all, -each.customers))
    action = _(
        "They are retried by themselves, each time after a longer wait. Correct the code first, since each run costs an "
        "attempt; then “Run all of them again” on the page of failures, or “manage.py checkout_replay --receiver "
        "%(receiver)s --failed”, runs them at once. The rows show the whole error."
    ) % {"receiver": failures[0].receiver}
    if all(each.waited for each in failures):
        action = str(SEE_TO_IT)
    return FAILING.found(
        f"{listed([each.text for each in failures])}.",
        Severity.FAILING if failures[0].for_all else Severity.WARNING,
        action,
        figures={
            "failing": len(keys),
            "receivers": len(failures),
            "customers": max(each.customers for each in failures),
            "since": min(each.since for each in failures).isoformat(),
        },
    )


def _failing_runs(now: datetime) -> list[int]:
    """Return the runs that have failed and are retried later, now, or at this moment: so no retry hides them.

    An attempt without an error ended with its process, as in any restart; two of one run are a failure.
    """
    runs = ReceiverRun.primary.order_by("due_at", "pk")
    parts = (
        (runs.filter(state=State.DUE, due_at__gt=now), 0),
        (runs.filter(state=State.DUE, due_at__lte=now), 0),
        (runs.filter(state=State.RUNNING), 1),
    )
    return [
        key
        for part, tried in parts
        for key, attempts, error in part.values_list("pk", "attempts", "error")[:MOST_READ]
        if attempts > tried + (not error)
    ]


def _last_completed() -> dict[str, int]:
    """Return the newest run that each receiver has completed lately."""
    done = ReceiverRun.primary.filter(state=State.DONE).order_by("-due_at", "-pk")
    completed: dict[str, int] = {}
    for receiver, key in done.values_list("receiver", "pk")[:NEWEST]:
        completed[receiver] = max(key, completed.get(receiver, 0))
    return completed


def _failures(keys: Sequence[int]) -> Iterator[Failure]:
    completed = _last_completed()
    for receiver, runs in _runs_of(keys).items():
        newest = {customer: key for key, customer in runs}
        # The last customers of this receiver, the newest first; by when they bought, since the others are retried again.
        last = sorted(newest.values(), reverse=True)
        last_run = ReceiverRun.primary.only("error").get(pk=runs[-1][0])
        attempts = FailedAttempt.primary.filter(run__in=[runs[0][0], runs[-1][0]])
        failed = list(attempts.order_by("run_id", "pk").values_list("failed_at", "traceback"))
        recorded = OutboxMessage.primary.filter(runs=runs[0][0]).values_list("recorded_at", flat=True)
        since = failed[0][0] if failed else recorded[0]
        enough = SEVERAL if datetime.now(UTC) - since <= LONG else SEVERAL - 1
        yield Failure(
            receiver=receiver,
            customers=len(last),
            since=since,
            error=_why(last_run, failed[-1][1] if failed else ""),
            waited=bool(last_run.waited_for),
            for_all=len(last) >= enough and completed.get(receiver, 0) < last[enough - 1],
        )


def _why(run: ReceiverRun, traceback: str) -> str:
    """Return the error of a run with its place; of `RetryLater` its cause, and that a process ended where there is none."""
    if run.waited_for:
        return run.error
    return traceback.partition("\n")[0] or _("the process that ran it ended")


def _runs_of(keys: Sequence[int]) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return failing runs by receiver, the oldest first: the key of each, and its customer, or the line of a guest."""
    rows = ReceiverRun.primary.filter(pk__in=keys).order_by("pk")
    found = defaultdict(list)
    for key, receiver, line, payer, customer in rows.values_list(
        "pk", "receiver", "line", F("message__grant__order__user"), F("message__order__user")
    ):
        known = payer or customer
        found[receiver].append((key, f"user {known}" if known else line or f"run {key}"))
    return found


def _given_up(now: datetime) -> Finding:
    runs = ReceiverRun.primary.filter(state=State.FAILED).order_by("-due_at", "-pk")
    failed = list(runs.values_list("receiver", "due_at", "error")[:MOST_COUNTED])
    if not failed:
        return GIVEN_UP.found(_("No run of the shop's code was given up."), figures={"failed": 0})
    counts, count, age = Counter(receiver for receiver, *_ in failed), len(failed), now - failed[0][1]
    text = _("Runs given up after their last attempt: %(n)s, the last one %(span)s ago (%(names)s).") % {
        "n": shown_count(count),
        "span": span(age.total_seconds()),
        "names": listed([f"{receiver}: {shown_count(each)}" for receiver, each in sorted(counts.items())]),
    }
    action = _(
        "Correct the code, then run them again: in the admin, or with manage.py checkout_replay --receiver %(receiver)s "
        "--failed."
    ) % {"receiver": counts.most_common(1)[0][0]}
    if all(waited_for(error) for *_, error in failed):
        action = str(SEE_TO_IT)
    severity = Severity.FAILING if age <= FRESH else Severity.WARNING
    return GIVEN_UP.found(
        text, severity, action, figures={"failed": count, "newest_seconds": seconds_of(age)}
    )


# Paid and not granted: runs of checkout_paid that have not completed for five minutes, whatever the reason. An order whose
# grant was closed meanwhile is not to be granted any more.

UNGRANTED: Final = (*(state for state in UNFINISHED if state != State.PAUSED), State.FAILED)
"""What is paused waits by a decision of staff: `_paused` has it, with its own number of orders."""


class Ungranted(NamedTuple):
    """How many orders are paid and not granted, whether there may be more, and since when the first one has been."""

    orders: int
    more: bool
    since: datetime | None


def ungranted_orders(now: datetime) -> list[int]:
    """Return the keys of the orders that `ungranted` counts, to a limit."""
    orders: Any = _about(_unfinished(now), now).values_list("grant__order", flat=True)
    return list(orders.distinct()[:MOST_COUNTED])


def _unfinished(now: datetime) -> list[int]:
    """Return the messages of the oldest runs of each state."""
    return [key for (key,) in _UNFINISHED.fetch(most=MOST_LOOKED_AT, now=now)]


_OLDEST: Final = """SELECT of_[state].message_id FROM (
        SELECT own.message_id FROM {runs} own WHERE own.state = '[state]'
            AND NOT (own.state = 'due' AND own.postponed_for <> '' AND own.due_at > {now})
        ORDER BY own.due_at, own.id LIMIT {most}
    ) of_[state]"""
_UNFINISHED: Final = Command(
    " UNION ALL ".join(_OLDEST.replace("[state]", state.value) for state in UNGRANTED),
    in_order=True,
    runs=ReceiverRun,
)


def _about(messages: Sequence[int], now: datetime) -> QuerySet[OutboxMessage]:
    """Return those of the messages that have asked to grant what is still to be granted, five minutes ago or earlier."""
    of_payments = OutboxMessage.primary.filter(pk__in=messages, signal=checkout_paid.name)
    return of_payments.filter(grant__state=Grant.State.OPEN, recorded_at__lte=now - LONG)


def ungranted(now: datetime) -> Ungranted:
    """Return the orders that are paid and have not been granted for five minutes, among the oldest runs of each state."""
    return _counted(_unfinished(now), now)


def _counted(keys: Sequence[int], now: datetime) -> Ungranted:
    counts = {"orders": Count("grant__order", distinct=True), "since": Min("recorded_at")}
    found = _about(keys, now).aggregate(**counts)
    return Ungranted(min(found["orders"], MOST_COUNTED), len(keys) >= MOST_LOOKED_AT, found["since"])


def _not_granted(now: datetime) -> Finding:
    found = ungranted(now)
    if found.since is None:
        return NOT_GRANTED.found(
            _("Nothing that was paid has waited for its goods for long."), figures={"orders": 0}
        )
    text = _("Orders paid, and not granted for over five minutes: %(n)s, the first one for %(span)s.") % {
        "n": f"{shown_count(found.orders)}{'+' if found.more else ''}",
        "span": span((now - found.since).total_seconds()),
    }
    action = _(
        "The findings about the shop's code say why. Grant by hand what cannot wait, and mark it as granted."
    )
    severity = Severity.FAILING if found.orders > 1 else Severity.WARNING
    return NOT_GRANTED.found(
        text, severity, action, figures={"orders": found.orders, "since": found.since.isoformat()}
    )


MOST_NAMED: Final = 5
"""How many receivers a sentence names."""


UNKNOWN: Final = Kind(
    name="receivers_unknown",
    title=gettext_lazy("Code of the shop that no process knows"),
    rows=Rows(model="receiverrun", filters={"state": "unknown"}),
)
PAUSED: Final = Kind(
    name="receivers_paused",
    title=gettext_lazy("Code of the shop that is paused"),
    rows=Rows(model="receiverrun", filters={"state": "paused"}),
)
PAUSED_LONG: Final = timedelta(days=1)
UNDELIVERED: Final = Kind(
    name="undelivered",
    title=gettext_lazy("Payments without code to deliver them"),
    rows=Rows(model="order", filters={"queue": "undelivered"}),
)


def goods_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield what is not delivered since no process knows the receiver, and what no receiver was there for."""
    remembered = read_receivers()
    yield _unknown(remembered, now)
    yield _paused(remembered, now)
    yield from (_undelivered(project, now) for project in projects)


def _paused(remembered: Remembered, now: datetime) -> Finding:
    since = {row.name: now - row.paused_at for row in remembered.rows if row.paused_at}
    if not since:
        return PAUSED.found(
            _("No code of the shop is paused."), figures={"runs": 0, "receivers": "", "orders": 0}
        )
    runs = ReceiverRun.primary.filter(state=State.PAUSED).order_by("due_at", "pk")
    messages = list(runs.values_list("message_id", flat=True)[:MOST_COUNTED])
    count, paid = len(messages), _counted(messages, now)
    figures: dict[str, Figure] = {
        "runs": count,
        "receivers": ", ".join(sorted(since)),
        "orders": paid.orders,
    }
    text = _("Paused by staff: %(receivers)s; runs that wait: %(n)s.") % {
        "receivers": listed([f"{name} ({span(age.total_seconds())})" for name, age in sorted(since.items())]),
        "n": shown_count(count),
    }
    if paid.since is not None:
        waiting = _("Orders paid that wait for it for over five minutes: %(n)s, the first one for %(span)s.")
        age = span((now - paid.since).total_seconds())
        text = f"{text} {waiting % {'n': shown_count(paid.orders), 'span': age}}"
    action = _(
        "If what it was paused for is over, resume it on the page Failures, or on that of one of these runs."
    )
    severity = Severity.WARNING if paid.orders or max(since.values()) > PAUSED_LONG else Severity.OK
    return PAUSED.found(text, severity, action, figures=figures)


class Unknown(NamedTuple):
    """A receiver whose runs no process has run for five minutes, as none of them knows it."""

    receiver: str
    signal: str
    runs: int
    customers: int
    since: datetime


def _unknown_receivers(remembered: Remembered, now: datetime) -> list[Unknown]:
    """Return the receivers whose runs are due for five minutes, and that no process that runs receivers has had meanwhile."""
    late = defaultdict(list)
    runs = ReceiverRun.primary.filter(due_at__lte=now - ABSENT_AFTER).order_by("due_at", "pk")
    columns = ("message__signal", "message__grant__state", "receiver", "line", "due_at")
    for state in (State.UNKNOWN, State.DUE):
        for signal, grant, receiver, *run in runs.filter(state=state).values_list(*columns)[:MOST_COUNTED]:
            if signal != checkout_paid.name or grant == Grant.State.OPEN:
                late[receiver, signal].append(run)
    found = [
        Unknown(receiver, signal, len(own), len({line for line, _ in own if line}), min(at for _, at in own))
        for (receiver, signal), own in late.items()
    ]
    rows = [(each, remembered.row(each.signal, each.receiver)) for each in found]
    absent = [each for each, row in rows if row is None or is_absent(row, now)]
    return sorted(absent, key=lambda each: each.since)


def _unknown(remembered: Remembered, now: datetime) -> Finding:
    found = _unknown_receivers(remembered, now)
    figures: dict[str, Figure] = {
        "runs": sum(each.runs for each in found),
        "customers": max((each.customers for each in found), default=0),
        "oldest_seconds": round((now - found[0].since).total_seconds(), 3) if found else 0.0,
        "receivers": ", ".join(sorted({each.receiver for each in found})),
    }
    if not found:
        text = _("All code of the shop with something to do is known to a process that runs it.")
        return UNKNOWN.found(text, figures=figures)
    named = [
        _("%(receiver)s of %(signal)s (customers: %(customers)s, for %(span)s)")
        % {
            "receiver": each.receiver,
            "signal": each.signal,
            "customers": shown_count(each.customers),
            "span": span((now - each.since).total_seconds()),
        }
        for each in found
    ]
    text = _("No process that runs the shop's code has known this for five minutes: %(receivers)s.")
    action = _(
        "Restart workers that run an older release or lack the app with this code. If it was renamed, connect it with "
        "formerly=…; if it was removed, run manage.py checkout_replay --receiver NAME --retire."
    )
    return UNKNOWN.found(
        text % {"receivers": listed(named, MOST_NAMED)}, Severity.FAILING, action, figures=figures
    )


def is_pulled() -> bool:
    """Return whether the shop delivers without a receiver of ``checkout_paid``: it says so, or uses ``payment_success``."""
    rows = read_receivers().rows
    by_success = any(row.signal == payment_success.name and row.retired_at is None for row in rows)
    return app_settings().goods == "pull" or by_success or payment_success.has_listeners(sender=Order)


def undelivered(
    rows: Manager[OutboxMessage] | QuerySet[OutboxMessage] = OutboxMessage.primary,
) -> QuerySet[OutboxMessage]:
    """Return the messages about open grants that reached no receiver, as none was connected.

    ``rows``: where they are read; a part of another query has its database.
    """
    messages = rows.filter(signal=checkout_paid.name)
    return messages.filter(state=OutboxMessage.State.NO_RECEIVERS, grant__state=Grant.State.OPEN)


def count_undelivered(project: str | None = None) -> tuple[int, Any]:
    """Return how many orders are paid and reached no receiver, to a limit, and when the first one was."""
    if is_pulled():
        return 0, None
    rows = undelivered() if project is None else undelivered().filter(project=project)
    found = list(rows.order_by("recorded_at").values_list("recorded_at", flat=True)[:MOST_COUNTED])
    return len(found), found[0] if found else None


def _undelivered(project: str, now: datetime) -> Finding:
    count, since = count_undelivered(project)
    figures: dict[str, Figure] = {"orders": count}
    if since is None:
        text = _("No payment waits for code of the shop to be connected.")
        return UNDELIVERED.found(text, project=project, figures=figures)
    text = _(
        "Orders paid while no process had code of the shop connected to checkout_paid: %(n)s, for %(span)s."
    )
    action = _(
        "Connect the code, in the workers too, and run manage.py checkout_replay --receiver NAME. If your shop reads what "
        "is paid instead, set GOODS to “pull”."
    )
    named = {"n": shown_count(count), "span": span((now - since).total_seconds())}
    return UNDELIVERED.found(text % named, Severity.FAILING, action, project=project, figures=figures)
