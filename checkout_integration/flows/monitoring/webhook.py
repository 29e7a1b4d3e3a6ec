"""Findings about the webhook of each project: whether notifications come, and whether requests are refused.

Three signs say that they do not come. Payments that only the transaction list knows, a quarter of an hour after they were
made: so an address that is wrong from the first day is seen on that day, in a shop with three orders a week too; that
customers are asked about (user.validate) is no sign of the contrary. Silence
against the usual rhythm: nothing came for half an hour or more, and in the same stretch of each of the last four weeks
`USUAL` or more came, so nights are compared with nights. And refused requests, none of them accepted.

Refused requests are counted in the database, where every monitor reads them. Nobody can make it work by forgeries: no
statement comes before the response of a refusal, and at most one in a minute and process after its bytes. What a process has
counted since its last statement is written with its next one; so the figures are lower bounds for a minute. There is a row
for each project, code and hour, however many requests there are.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db import Error
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.database import key_of, keys_by_index, upsert
from checkout_integration.flows.monitoring.backlog import shown_count
from checkout_integration.flows.monitoring.finding import (
    Figure,
    Finding,
    Kind,
    Rows,
    seconds_of,
    shown_number,
    span,
)
from checkout_integration.models import Installation, Notification, Order, RefusedRequests, SyncRun
from checkout_integration.models.order import REVERSED
from checkout_integration.policy.facts import slot_key
from checkout_integration.policy.observation import Source
from checkout_integration.policy.severity import Severity
from checkout_integration.protocol.vocabulary import Event, OrderStatus

SHORTEST: Final = timedelta(minutes=30)
USUAL: Final = 20
"""The smallest usual number of notifications in each of the stretches: fewer may be missing by chance."""
WEEK: Final = timedelta(days=7)
WEEKS: Final = 4
MOST_READ: Final = 2_000
"""How many rows of a stretch are read at most."""
SETTLED: Final = timedelta(minutes=15)
"""How long after a payment its notification may come: the list may have shown it first."""
NEWEST: Final = 10
"""How many of the newest payments are judged."""
FEW: Final = 1 / 5
"""More than this part of them known from the list alone is a warning: single notifications may be lost."""
KIND: Final = Kind(name="notifications", title=gettext_lazy("Notifications"), rows=Rows(model="notification"))
UNNOTIFIED: Final = Kind(
    name=KIND.name, title=KIND.title, rows=Rows(model="order", filters={"queue": "unnotified"})
)
CHECK_THE_ADDRESS: Final = gettext_lazy(
    "Check at the service that the webhook of the project has this shop's address, with https and without a redirect, "
    "and here whether requests are refused."
)
ABOUT_CUSTOMERS: Final = Q(event=Event.USER_VALIDATE)
"""The condition of notifications that come before a payment: they do not show that payments are notified."""
PAID: Final = (OrderStatus.PROCESSED.value, *REVERSED)


def webhook_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield for each project whether notifications come, and whether requests are refused."""
    rows = Installation.primary.filter(project__in=projects)
    installed = dict(rows.values_list("project", "installed_at"))
    for project in projects:
        received = Notification.primary.filter(project=project).order_by("-received_at")
        times = received.values_list("received_at", flat=True)
        coming = _coming(project, times.exclude(ABOUT_CUSTOMERS).first(), installed.get(project), now)
        yield coming
        yield refused_finding(project, times.first(), now, is_silent=coming.severity.is_urgent)


def known_by_list_alone(now: datetime) -> Q:
    """Return the condition of the week's payments of which no notification has come in time."""
    notified = [slot_key(status, Source.NOTIFICATION) for status in OrderStatus]
    # A planner would reckon with a look-up of the first pass for each order, and compile the statement for 50 ms.
    own = [Q(project=project) & ~_imported(project) for project in app_settings().projects]
    return (
        Q(
            status__in=PAID,
            ordered_at__gt=now - WEEK,
            ordered_at__lte=now - SETTLED,
            changed_at__lte=now - SETTLED,
            facts__slots__has_key=slot_key(OrderStatus.PROCESSED, Source.LIST),
        )
        & ~Q(facts__slots__has_any_keys=notified)
        & reduce(or_, own)
    )


def _imported(project: str) -> Q:
    """Return the condition of orders from before the installation or the first pass of the list, which imported them."""
    installed = Installation.objects.filter(project=project).values("installed_at")[:1]
    passes = SyncRun.objects.filter(project=project).order_by("pk").values("started_at")[:1]
    return Q(created_at__lte=installed) | Q(created_at__lte=Coalesce(passes, installed))


def _coming(project: str, last_at: datetime | None, installed_at: datetime | None, now: datetime) -> Finding:
    since = last_at or installed_at
    figures: dict[str, Figure] = {"last_at": last_at.isoformat() if last_at else None}
    if installed_at is None or since is None:
        text = _("No notification of a payment has come yet, and nothing was sold.")
        return KIND.found(text, Severity.UNKNOWN, project=project, figures=figures)
    silent = now - since
    listed, paid = _listed(project, now)
    usual = _usual(project, since, min(silent, WEEK), installed_at) if silent >= SHORTEST else None
    figures |= {"silent_seconds": seconds_of(silent), "usual_count": usual}
    figures |= {"paid": paid, "paid_without": listed}
    counts: dict[str, Figure] = {"n": listed, "all": paid, "span": span(silent.total_seconds())}
    kind, severity, action = KIND, Severity.WARNING, str(CHECK_THE_ADDRESS)
    if listed and last_at is None:
        kind, severity = UNNOTIFIED, Severity.FAILING
        text = _(
            "No notification of a payment has ever come; payments of the last 7 days in the transaction list: %(n)s."
        )
    elif listed > paid * FEW:
        kind, severity = UNNOTIFIED, Severity.FAILING if listed == paid > 1 else Severity.WARNING
        text = _(
            "Of %(n)s of the last %(all)s payments no notification came: only the transaction list has them."
        )
    elif usual is not None and usual >= USUAL:
        text = _(
            "No notification of a payment for %(span)s; in the same hours of the last weeks at least %(n)s came each time."
        )
        counts["n"] = shown_count(usual, MOST_READ)
    else:
        severity, action = Severity.OK if last_at else Severity.UNKNOWN, ""
        text = _("The last notification of a payment came %(span)s ago.")
        if listed:
            kind = UNNOTIFIED
            none = _("Of %(n)s of the last %(all)s payments none came.")
            text = f"{text} {none}"
        if last_at is None:
            text = _(
                "No notification of a payment has come yet. The shop has no payment that is older than a quarter of an hour "
                "either, so none is missing."
            )
    return kind.found(text % counts, severity, action, project=project, figures=figures)


def _listed(project: str, now: datetime) -> tuple[int, int]:
    """Return of how many of the newest payments only the list knows, and how many these are.

    A payment that the list has shown just now is not judged: its customer may have taken long, and its notification comes.
    """
    newest = [row for status in PAID for row in _paid(project, status, now)]
    keys = [key for _at, key in sorted(newest)[-NEWEST:]]
    if not keys:
        return 0, 0
    orders = Order.primary.filter(pk__in=keys).values_list("facts", "changed_at")
    sources = [({key.partition("/")[2] for key in facts["slots"]}, at) for facts, at in orders]
    notified = sum(Source.NOTIFICATION in each for each, _at in sources)
    listed = sum(
        Source.LIST in each and Source.NOTIFICATION not in each and at <= now - SETTLED
        for each, at in sources
    )
    return listed, listed + notified


def _paid(project: str, status: str, now: datetime) -> Iterable[tuple[Any, int]]:
    """Return the newest payments with a status that are old enough to be judged.

    A range of one status, and not "=": so no other index has this sequence. PostgreSQL would read the orders of all projects
    by their time where it expects many payments.
    """
    paid = Order.primary.filter(project=project, status__gte=status, status__lte=status)
    paid = paid.filter(created_at__gt=now - WEEK, created_at__lte=now - SETTLED).exclude(_imported(project))
    return paid.order_by("status", "-created_at").values_list("created_at", "pk")[:NEWEST]


def _usual(project: str, since: datetime, length: timedelta, installed_at: datetime) -> int | None:
    """Return how many came at least in this stretch of the last weeks; None without a week to compare with."""
    begins = [since - week * WEEK for week in range(1, WEEKS + 1)]
    return min((_came(project, each, each + length) for each in begins if each >= installed_at), default=None)


def _came(project: str, begin: datetime, end: datetime) -> int:
    came = Notification.primary.filter(project=project, received_at__gt=begin, received_at__lte=end)
    return len(keys_by_index(came.exclude(ABOUT_CUSTOMERS), "received_at", most=MOST_READ))


HOUR: Final = timedelta(hours=1)
WRITE_EVERY: Final = 60.0
"""Seconds in which a process writes its counts once at most."""
NO_PROJECT: Final = ""
"""Stands for all addresses of projects that the settings do not have: a stranger must not choose rows."""
ANY_WITHOUT: Final = 3
"""How many requests refused in an hour, with none accepted, are a warning: perhaps the secret is wrong."""
MANY: Final = 100
REFUSED: Final = Kind(name="refused", title=gettext_lazy("Refused requests"))
ELSEWHERE: Final = Kind(name="refused_unknown", title=gettext_lazy("Requests for unknown projects"))


class ThisProcess:
    """The counts of this process that are not written yet, and when it wrote the last ones."""

    counts = Counter[tuple[str, str, datetime]]()
    written_at = -WRITE_EVERY
    lock = threading.Lock()


def count_refused(project: str, code: str) -> None:
    """Count one refused request to a project's webhook, in memory."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    with ThisProcess.lock:
        ThisProcess.counts[project, code, hour] += 1


def write_refused() -> None:
    """Write what this process has counted, unless it did so in the last minute. Call it after a response; it never raises."""
    if not ThisProcess.counts:
        return
    with ThisProcess.lock:
        if time.monotonic() - ThisProcess.written_at < WRITE_EVERY:
            return
        ThisProcess.written_at = time.monotonic()
        counts, ThisProcess.counts = ThisProcess.counts, Counter()
    now = datetime.now(UTC)
    rows = [
        RefusedRequests(
            key=key_of("refused", project, code, hour.isoformat()),
            project=project,
            code=code,
            hour=hour,
            count=count,
            last_at=now,
        )
        for (project, code, hour), count in counts.items()
    ]
    try:
        upsert(rows, "key", update=("last_at",), add=("count",))
    except Error:  # the database is away, or cannot be written: they are written with the next ones
        with ThisProcess.lock:
            ThisProcess.counts += counts


def refused_lately(project: str) -> tuple[int, list[str]]:
    """Return how many requests were refused in hours whose last one came within the last hour, and with which codes."""
    now, rows = datetime.now(UTC), RefusedRequests.primary.filter(project=project)
    lately = rows.filter(hour__gt=now - 2 * HOUR, last_at__gt=now - HOUR)
    found = list(lately.order_by("hour").values_list("code", "count"))
    return sum(count for _code, count in found), sorted({code for code, _count in found})


def refused_finding(project: str, last_at: datetime | None, now: datetime, *, is_silent: bool) -> Finding:
    """Return what was refused of a project's requests; ``last_at``: when one was accepted last."""
    requests, codes = refused_lately(project)
    none_accepted = last_at is None or now - last_at > HOUR
    text, values = _("Requests refused in the last hour: %(n)s."), {"n": shown_number(requests)}
    if requests:  # each process counts at most one a minute
        text = _("Requests refused in the last hour: %(n)s or more (%(codes)s).")
        values["codes"] = ", ".join(codes)
    if requests < MANY and not (requests >= ANY_WITHOUT and none_accepted):
        return REFUSED.found(text % values, project=project, figures={"last_hour": requests})
    action = _("Others were accepted, so the secret is right: somebody else may be sending them.")
    if none_accepted:
        action = _(
            "None was accepted. Compare SECRET_KEY with the project's webhooks page at the service, and check whether a "
            "proxy changes the body or drops the header Authorization."
        )
    return REFUSED.found(
        text % values,
        Severity.FAILING if is_silent and none_accepted else Severity.WARNING,
        action,
        project=project,
        figures={"last_hour": requests},
    )


def refused_elsewhere(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield how many requests came to addresses of projects that the settings do not have."""
    count, _codes = refused_lately(NO_PROJECT)
    text, action, severity = _("No requests to the address of an unknown project."), "", Severity.OK
    if count:
        text = _("Requests to the address of an unknown project in the last hour: %(n)s.") % {
            "n": shown_number(count)
        }
    if count >= ANY_WITHOUT:
        severity = Severity.WARNING
        action = _(
            "Compare the address on the webhooks page at the service with the aliases in PROJECTS: %(aliases)s."
        ) % {"aliases": ", ".join(projects)}
    yield ELSEWHERE.found(text, severity, action, figures={"last_hour": count})
