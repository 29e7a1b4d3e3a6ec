"""The finding about goods that game servers fetch: whether any of them still does (GOODS, OWNERSHIP_TOKENS)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Manager, Max, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, shown_count
from checkout_integration.flows.monitoring.finding import Finding, Kind, Rows, span
from checkout_integration.models import Grant
from checkout_integration.policy.severity import Severity

ONLINE: Final = timedelta(hours=1)
"""How long goods may wait until it says something: their customer may not be in the game."""
LONG: Final = timedelta(days=1)
SEVERAL: Final = 3
FETCHED: Final = Kind(
    name="not_fetched",
    title=gettext_lazy("Goods for game servers"),
    rows=Rows(model="order", filters={"queue": "undelivered"}),
)


def fetching_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield for each project with game servers whether goods wait that none of them acknowledges."""
    app = app_settings()
    yield from (_fetched(each, now) for each in projects if app.is_fetched(app.project(each)))


def unfetched(before: datetime, rows: Manager[Grant] = Grant.primary) -> QuerySet[Grant]:
    """Return the open grants that a game server should have fetched, and that were opened before this time.

    None of a guest: no server can ask for what nobody has claimed yet.
    ``rows``: where they are read; a part of another query has its database.
    """
    grants = rows.filter(pull=True, acknowledged_at=None, state=Grant.State.OPEN)
    return grants.filter(opened_at__lte=before).exclude(
        checkout__user=None, checkout__identity="", checkout__gift=False
    )


def _fetched(project: str, now: datetime) -> Finding:
    """Judge what was paid since the last acknowledgement: customers who stay away hold up nobody else."""
    acknowledged = Grant.primary.filter(project=project, pull=True).aggregate(last=Max("acknowledged_at"))
    waiting = unfetched(now - ONLINE).filter(project=project)
    # The newest, in the sequence of the index; PostgreSQL would sort them all by one column of it alone.
    newest = waiting.order_by("-acknowledged_at", "-opened_at")
    opened = list(newest.values_list("opened_at", flat=True)[:MOST_COUNTED])
    since = acknowledged["last"]
    newer = [at for at in opened if since is None or at > since]
    figures = {"grants": len(opened), "unanswered": len(newer)}
    if not newer:
        text = _(
            "Game servers acknowledge what they deliver. Goods whose customers have not come yet: %(n)s."
        )
        return FETCHED.found(text % {"n": shown_count(len(opened))}, project=project, figures=figures)
    age = now - newer[-1]
    severity = Severity.WARNING if age > LONG else Severity.OK
    if len(newer) >= SEVERAL:
        severity = Severity.FAILING
    text = _(
        "Paid goods that no game server has acknowledged: %(n)s, the first for %(span)s, and nothing else since."
    )
    action = _(
        "See whether your game servers ask for grants and acknowledge them, and whether their token is right."
    )
    named = {"n": shown_count(len(newer)), "span": span(age.total_seconds())}
    return FETCHED.found(
        text % named, severity, action if severity.is_urgent else "", project=project, figures=figures
    )
