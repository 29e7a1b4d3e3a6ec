"""``{% load checkout_health %}``: the health on pages of the admin. It is private to the templates of this app."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from django.template import Context, Library
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from checkout_integration import flows
from checkout_integration.display import shown_amount, shown_number
from checkout_integration.flows.monitoring import span
from checkout_integration.flows.operations import Finding, Severity, StaffQueue

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = Library()


@register.simple_tag
def checkout_test_data() -> bool:
    """Return whether there is test data."""
    return flows.retention.has_test_data()


TONES: Final[Mapping[Severity, tuple[str, str, StrOrPromise]]] = {
    Severity.OK: ("good", "✓", _("well")),
    Severity.UNKNOWN: ("calm", "?", _("not known yet")),
    Severity.WARNING: ("wait", "!", _("look at it")),
    Severity.FAILING: ("bad", "✗", _("failing")),
}
"""Tone, mark and word of a severity, as the admin's badges have them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The findings of a project, or of what all projects share (``alias`` is "", ``test`` None)."""

    alias: str
    test: bool | None
    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The worst severity."""
        return max((each.severity for each in self.findings), key=lambda each: each.rank, default=Severity.OK)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What the pages show: what is bad first, and what is well in one line."""

    parts: Sequence[Part]
    queues: Sequence[StaffQueue]
    """Those in which something waits for somebody, the oldest first."""
    sees_queues: bool
    """Whether the viewer may see the rows of any; to others "nothing waits" would be false."""
    viewer: Any
    """The account that looks: a finding is linked to its rows if it may see them."""

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings, the worst first."""
        found = [finding for part in self.parts for finding in part.findings]
        return sorted(found, key=lambda each: -each.severity.rank)

    @property
    def severity(self) -> Severity:
        """The worst severity."""
        return self.findings[0].severity

    @property
    def urgent(self) -> Sequence[Finding]:
        """The findings that ask for somebody."""
        return [finding for finding in self.findings if finding.severity.is_urgent]

    @property
    def calm(self) -> Sequence[Finding]:
        """The others."""
        return [finding for finding in self.findings if not finding.severity.is_urgent]

    @property
    def unknown(self) -> Sequence[Finding]:
        """The findings about which nothing is known yet."""
        return [finding for finding in self.findings if finding.severity == Severity.UNKNOWN]

    @property
    def headline(self) -> SafeString:
        """The whole in a sentence or two, with the names of what fails and of what somebody should look at."""
        named = filter(None, map(self._named, (Severity.FAILING, Severity.WARNING)))
        return format_html_join(" ", "{}", ((each,) for each in named)) or conditional_escape(
            gettext("Nothing is wrong so far, but not everything was seen to work yet.")
            if self.severity == Severity.UNKNOWN
            else gettext("All is well.")
        )

    def _named(self, severity: Severity) -> str:
        found = [each for each in self.findings if each.severity == severity]
        names = [conditional_escape(each.title) for each in found]
        links = {name: self._linked(each) for name, each in zip(names, found, strict=True)}
        values = {
            "n": len(names),
            "names": format_html_join(", ", "{}", ((link,) for link in links.values())),
        }
        if not names:
            return ""
        if severity == Severity.FAILING:
            text = ngettext(
                "%(n)s thing is failing: %(names)s.", "%(n)s things are failing: %(names)s.", len(names)
            )
            return mark_safe(text % values)  # noqa: S308  # the names are escaped
        text = ngettext(
            "Somebody should look at %(n)s thing: %(names)s.",
            "Somebody should look at %(n)s things: %(names)s.",
            len(names),
        )
        return mark_safe(text % values)  # noqa: S308  # the names are escaped

    def _linked(self, finding: Finding) -> str:
        """Return the title of a finding, linked to its rows if the viewer may see them."""
        address = _rows_address(self.viewer, finding)
        return (
            format_html('<a href="{}">{}</a>', address, finding.title)
            if address
            else conditional_escape(finding.title)
        )


@register.simple_tag(takes_context=True)
def checkout_health(context: Context) -> Panel:
    """Return the health, for those who may see it, and the queues whose rows the viewer may see."""
    user = context["request"].user
    queues = flows.operations.staff_queues()
    return Panel(
        parts=_parts() if user.has_perm("checkout_integration.view_health") else (),
        queues=sorted(
            (queue for queue in queues if queue.count and user.has_perm(queue.view_permission)),
            key=lambda queue: queue.since or datetime.now(UTC),
        ),
        viewer=user,
        sees_queues=any(user.has_perm(queue.view_permission) for queue in queues),
    )


def _parts() -> Sequence[Part]:
    health = flows.operations.health()
    projects = [
        Part(alias=each.alias, test=each.test, findings=health.of(each.alias)) for each in health.projects
    ]
    return [*projects, Part(alias="", test=None, findings=health.of(""))]


@register.simple_tag(takes_context=True)
def rows_link(context: Context, finding: Finding) -> str:
    """Return the path of a finding's rows; "" for a viewer who may not see them."""
    return _rows_address(context["request"].user, finding)


def _rows_address(viewer: Any, finding: Finding) -> str:
    may_see = finding.rows is not None and viewer.has_perm(finding.rows.view_permission)
    # What is well and counts nothing has no rows.
    counts = finding.severity != Severity.OK or any(
        isinstance(each, int) and each for each in finding.figures.values()
    )
    return finding.link if may_see and counts else ""


@register.inclusion_tag("admin/checkout_integration/severity.html")
def severity_badge(severity: str) -> dict[str, Any]:
    """Render a severity as a mark and a word."""
    tone, mark, word = TONES[Severity(severity)]
    return {"tone": tone, "mark": mark, "word": word}


@register.filter
def age(queue: StaffQueue) -> str:
    """Return for how long the oldest row of a queue has waited; "–" where it is not known."""
    return span((datetime.now(UTC) - queue.since).total_seconds()) if queue.since else "–"


@register.filter
def sums(queue: StaffQueue) -> list[str]:
    """Return the money of a queue's orders, one sum for each currency, and how many have no amount; "–" without orders."""
    return list(_sums(queue)) or ["–"]


def _sums(queue: StaffQueue) -> Iterator[str]:
    for currency, amount in queue.money.items():
        yield f"{shown_amount(amount, currency)}\N{NO-BREAK SPACE}{currency}".strip()
    if queue.unpriced:
        text = ngettext("%(n)s without an amount", "%(n)s without an amount", queue.unpriced)
        yield text % {"n": shown_number(queue.unpriced)}


OF_THE_DESK: Final = (
    *("order", "checkoutuser", "money", "syncdifference", "checkout", "refund", "incident"),
    *("installation", "failures"),
)
"""The lists and pages of every day, in the sequence of the app's page; all others are its engine room."""


@register.filter
def rooms(apps: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the app's entries as two lists: those of every day, and those of the engine room."""
    for app in apps:
        entries = {str(entry["object_name"]).lower(): entry for entry in app["models"]}
        daily = [entries.pop(name) for name in OF_THE_DESK if name in entries]
        yield from (
            {**app, "name": name, "models": models}
            for name, models in ((_("Desk"), daily), (_("Engine room"), list(entries.values())))
            if models
        )
