"""The page about the transaction list: the passes of each lane, the weekly totals, and what differed, with both values.

It stands in the place of the list of differences, which is below the tables: Django's filters and pages are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.contrib import admin
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Sum, When
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from checkout_integration.admin.site import filters
from checkout_integration.admin.site.fields import Viewer, group
from checkout_integration.admin.site.labels import (
    LANES_IN_WORDS,
    ORDER_STATUSES,
    SYNC_STATES,
    StateLabel,
    Text,
    label_of,
)
from checkout_integration.admin.site.read_only import ReadOnlyAdmin, ReportAdmin
from checkout_integration.admin.site.values import (
    NOTHING,
    Table,
    Value,
    badge,
    in_list,
    moment,
    moment_text,
    visible,
)
from checkout_integration.conf import app_settings
from checkout_integration.display import shown_amount, shown_number, shown_part
from checkout_integration.flows.monitoring import LONGEST_UNSYNCED, WHO_SYNCS, span
from checkout_integration.flows.sync import LANES
from checkout_integration.models import Order, StaffAct, SyncCursor, SyncDifference, SyncRun
from checkout_integration.protocol.vocabulary import OrderStatus

NEWEST_PASSES: Final = 3
"""So many passes of each lane are shown."""
KINDS: Final = {
    "missing_here": StateLabel(gettext_lazy("missing here"), "calm"),
    "missing_there": StateLabel(gettext_lazy("not in the list"), "calm"),
    "status": StateLabel(gettext_lazy("another status"), "calm"),
    "amount": StateLabel(gettext_lazy("another amount"), "calm"),
    "unknown": StateLabel(gettext_lazy("not understood"), "calm"),
}
"""The kinds of a difference: all one colour, since its state says whether somebody has to look."""
STATES: Final = {
    "healed": StateLabel(gettext_lazy("healed"), "calm", sign="✓"),
    "waiting": StateLabel(gettext_lazy("waiting"), "bad", sign="!"),
}
STATE_CHOICES: Final = {
    "waiting": (
        STATES["waiting"].text,
        Q(state=SyncDifference.State.WAITING, waiting_key__isnull=False),
    ),
    "healed": (STATES["healed"].text, Q(state=SyncDifference.State.HEALED)),
}
"""A waiting one is found by the index of its key."""
IN_SHOP: Final = gettext_lazy("in this shop")
AT_SERVICE: Final = gettext_lazy("at the service")
EQUAL: Final = StateLabel(gettext_lazy("equal"), "good")
WAS_EQUAL: Final = StateLabel(gettext_lazy("equal when it was compared"), "good")
DIFFERENT: Final = StateLabel(gettext_lazy("different"), "bad")
NOT_READ: Final = StateLabel(gettext_lazy("not read"), "wait", sign="!")


@admin.register(SyncDifference)
class ReconciliationAdmin(ReportAdmin):
    """The entry "Reconciliation" of the index."""

    title = gettext_lazy("Reconciliation")
    change_list_template = "admin/checkout_integration/reconciliation.html"
    rows_are_called = gettext_lazy("noted differences")
    ordering = (Case(When(waiting_key=None, then=1), default=0), "-pk")  # what waits comes first
    list_display = ("kind", "order", "in_shop", "at_service", "state", "found_at")
    list_display_links = None
    list_filter = (
        filters.choice_filter("state", gettext_lazy("state"), STATE_CHOICES),
        filters.label_filter("kind", gettext_lazy("kind"), KINDS),
        filters.ProjectFilter,
    )
    sortable = {"found_at": "pk"}
    labels = {"kind": KINDS, "state": STATES}
    linked = ("order",)
    headings = {
        "in_shop": IN_SHOP,
        "at_service": AT_SERVICE,
        "found_at": gettext_lazy("found"),
    }
    when_empty = gettext_lazy(
        "No difference was found. A pass notes here what differed before it recorded the list. To compare everything now, "
        "and write nothing, run “python manage.py checkout_sync --lane all --dry-run”."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the differences, each with the key of its order."""
        orders = Order.objects.filter(project=OuterRef("project"), order_id=OuterRef("order_id"))
        rows = super().get_queryset(request)
        return rows.annotate(order_key=Subquery(orders.values("pk")[:1]))  # type: ignore[no-any-return]

    def order(self, row: Any) -> Order | str:
        """Return the order, which is linked, or its id where it is not known here."""
        return Order(pk=row.order_key, order_id=row.order_id) if row.order_key else row.order_id

    def in_shop(self, row: SyncDifference) -> Value:
        """Return the order as this shop had it."""
        return in_list(_in_words(row.here))

    def at_service(self, row: SyncDifference) -> Value:
        """Return the order as the list has it."""
        return in_list(_in_words(row.there))

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what stands above the list."""
        verdicts = [_verdict(project) for project in app_settings().projects]
        return {
            "verdicts": [(badge(label), text) for label, text, _is_unread in verdicts],
            "tables": list(_tables(self.viewer(request))),
            "who_syncs": WHO_SYNCS[app_settings().runner] if any(each[2] for each in verdicts) else "",
        }


def _in_words(side: str) -> str:
    """Return an order as one side has it, with status and amount as all pages have them."""
    status, _space, rest = side.partition(" ")
    amount, space, currency = rest.partition(" ")
    with suppress(InvalidOperation):  # no amount is known
        rest = f"{shown_amount(Decimal(amount), currency)}{space}{currency}"
    return f"{ORDER_STATUSES[status].text} {rest}".rstrip() if status in ORDER_STATUSES else side


def _verdict(project: str) -> tuple[StateLabel, str, bool]:
    """Return whether a project's orders are those of the service's list, and whether the list is not read as it should be."""
    waiting = SyncDifference.objects.filter(project=project, waiting_key__isnull=False).count()
    passes = SyncRun.objects.filter(project=project).order_by("-started_at").defer("totals")
    newest = passes.filter(state=SyncRun.State.COMPLETE, finished_at__isnull=False).first()
    last = passes.exclude(state=SyncRun.State.RUNNING).first()
    if newest is None or newest.finished_at is None:
        text = _("Project %(project)s: the service's list was not read yet.")
        return NOT_READ, text % {"project": project}, True
    age, compared = datetime.now(UTC) - newest.finished_at, _last_comparison(project)
    said = {"project": project, "n": shown_number(waiting), "ago": span(age.total_seconds())}
    text = (
        ngettext(
            "Project %(project)s: %(n)s difference waits for somebody. The list was last read %(ago)s ago.",
            "Project %(project)s: %(n)s differences wait for somebody. The list was last read %(ago)s ago.",
            waiting,
        )
        if waiting
        else _("Project %(project)s: nothing waits. The list was last read %(ago)s ago.")
    ) % said
    said_then, equal = _comparison(compared) if compared else ("", EQUAL)
    text = f"{text} {said_then}".rstrip()
    if last is not None and last.state in (SyncRun.State.FAILED, SyncRun.State.UNREACHABLE):
        text += " " + _("The last attempt has failed: %(why)s") % {"why": visible(last.failure) or NOTHING}
        return DIFFERENT if waiting else NOT_READ, text, True
    return DIFFERENT if waiting else equal, text, age > LONGEST_UNSYNCED


def _last_comparison(project: str) -> SyncRun | None:
    """Return the last complete pass over the whole list."""
    complete = SyncRun.objects.filter(project=project, lane="all", state=SyncRun.State.COMPLETE)
    return complete.filter(window_from=None, window_to=None).order_by("-started_at").first()


def _comparison(compared: SyncRun) -> tuple[str, StateLabel]:
    """Return when all of the list was compared and what has changed since, and how to name that all was equal then."""
    parts, since = [_("All of it was compared at %(at)s.")], compared.started_at
    later = SyncRun.objects.filter(project=compared.project, started_at__gt=since)
    changed = later.aggregate(changed=Sum("changed"))["changed"]
    if changed:
        parts.append(
            ngettext(
                "Since then the list has changed %(n)s order here.",
                "Since then the list has changed %(n)s orders here.",
                changed,
            )
        )
    if StaffAct.objects.filter(act=StaffAct.Act.DELETE_TESTS, recorded_at__gt=since).exists():
        parts.append(_("Since then test data was deleted here."))
    said = " ".join(parts) % {"at": moment_text(since), "n": shown_number(changed or 0)}
    return said, WAS_EQUAL if parts[1:] else EQUAL


def _tables(viewer: Viewer) -> Iterator[Table]:
    now, cursors = datetime.now(UTC), SyncCursor.objects.all()
    watermarks = {(each.project, each.lane): each.watermark for each in cursors}
    for project in app_settings().projects:
        passes = {lane: _newest(project, lane) for lane in LANES}
        yield Table(
            _("Project %(project)s: parts of the list") % {"project": project},
            [
                _lane(lane, passes[lane], watermarks.get((project, lane)), now)
                for lane in LANES
                if passes[lane]
            ],
            empty=_(
                "No pass yet. Run “python manage.py checkout_sync”, or let Celery's beat or checkout_work run it every five "
                "minutes."
            ),
        )
        yield _passes_table(project, [each for lane in LANES for each in passes[lane]], viewer)
        if viewer.may("view_money"):
            yield _totals_table(project)


def _newest(project: str, lane: str) -> list[SyncRun]:
    passes = SyncRun.objects.filter(project=project, lane=lane).order_by("-started_at")
    return list(passes.defer("totals")[:NEWEST_PASSES])


def _lane(
    lane: str, passes: list[SyncRun], watermark: datetime | None, now: datetime
) -> list[tuple[Text, Value]]:
    """Return how far a lane was read to its end; the watermark is the beginning of its last complete pass."""
    behind = span((now - watermark).total_seconds()) if watermark else _("never read to its end")
    return [
        (_("part of the list"), LANES_IN_WORDS.get(lane, lane)),
        (_("newest pass"), badge(label_of(SYNC_STATES, passes[0].state))),
        (_("read up to"), moment(watermark)),
        (_("how long ago"), behind),
    ]


def _passes_table(project: str, passes: list[SyncRun], viewer: Viewer) -> Table:
    rows = [
        [
            (_("began"), viewer.link(SyncRun, each.pk, moment(each.started_at))),
            (_("part of the list"), LANES_IN_WORDS.get(each.lane, each.lane)),
            (_("state"), badge(label_of(SYNC_STATES, each.state))),
            (_("took"), _duration(each)),
            (_("pages"), shown_number(each.pages)),
            (_("rows read"), shown_number(each.rows)),
            (_("orders changed"), shown_number(each.changed)),
            (_("why"), visible(each.failure) or NOTHING),
        ]
        for each in passes
    ]
    return Table(_("Project %(project)s: newest passes") % {"project": project}, rows)


def _duration(run: SyncRun) -> str:
    return span((run.finished_at - run.started_at).total_seconds()) if run.finished_at else NOTHING


def _totals_table(project: str) -> Table:
    """Return count and sum of each currency and status, here and there, of the last complete pass over everything."""
    last = _last_comparison(project)
    if last is None or not last.totals:
        return Table("", [])
    rows: list[list[tuple[Text, Value]]] = [
        [
            (_("currency"), visible(line["currency"]) or NOTHING),
            (_("status"), _status_of_totals(line["status"])),
            (IN_SHOP, _side(line["here"], line["currency"])),
            (AT_SERVICE, _side(line["there"], line["currency"])),
            (_("compared"), badge(EQUAL if line["here"] == line["there"] else DIFFERENT)),
        ]
        for line in last.totals
    ]
    title = _("Project %(project)s: totals of the whole list, at %(at)s")
    return Table(title % {"project": project, "at": moment_text(last.started_at)}, rows)


def _status_of_totals(status: str) -> Text:
    """Return a status in words; an order whose reversal is a row of its own stays paid in the list."""
    paid = status == OrderStatus.PROCESSED
    return _("paid; refunded and charged back, too") if paid else visible(_in_words(status))


def _side(side: dict[str, Any], currency: str) -> str:
    """Return the sum of the amounts that are known, and in how many of the orders."""
    known, count = side["count"] - side["unknown"], side["count"]
    if side["sum"] is None:
        text = ngettext("unknown in %(count)s order", "unknown in %(count)s orders", count)
        return text % {"count": shown_number(count)}
    amount = shown_amount(Decimal(side["sum"]), currency)
    return ngettext("%(sum)s in %(count)s order", "%(sum)s in %(count)s orders", count) % {
        "sum": f"{amount} {visible(currency)}".strip(),
        "count": shown_part(known, side["unknown"]) or shown_number(count),
    }


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnlyAdmin):
    """Passes of the sync: rows read, orders changed, and the reason of a failure."""

    list_display = ("started_at", "lane", "state", "rows", "changed", "failure")
    list_filter = (
        filters.label_filter("state", gettext_lazy("state"), SYNC_STATES),
        filters.ProjectFilter,
        ("started_at", filters.DateFilter),
    )
    sortable = {"started_at": "pk"}
    fieldsets = (
        group(None, "state failure project lane started_at finished_at"),
        group(gettext_lazy("Read"), "window_from window_to pages rows changed"),
    )
    labels = {"state": SYNC_STATES}
    headings = {
        "window_from": gettext_lazy("orders created from"),
        "window_to": gettext_lazy("orders created until"),
        "pages": gettext_lazy("pages read"),
        "rows": gettext_lazy("rows read"),
        "changed": gettext_lazy("orders changed"),
    }
    when_empty = gettext_lazy(
        "No sync yet. Run “python manage.py checkout_sync”, or start “checkout_work” or Celery's beat."
    )

    def lane(self, row: SyncRun) -> Text:
        """Return which part of the list was read."""
        return LANES_IN_WORDS.get(row.lane, row.lane)
