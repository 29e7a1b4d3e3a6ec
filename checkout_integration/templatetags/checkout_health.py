"""``{% load checkout_health %}``: the health on pages of the admin. It is private to the templates of this app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.template import Context, Library
from django.utils.translation import gettext_lazy as _

from checkout_integration import flows
from checkout_integration.flows.operations import Finding, Severity, StaffQueue

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = Library()

TONES: Final[Mapping[Severity, tuple[str, str, StrOrPromise]]] = {
    Severity.OK: ("good", "✓", _("well")),
    Severity.WARNING: ("wait", "!", _("look at it")),
    Severity.FAILING: ("bad", "✗", _("failing")),
}
"""Tone, mark and word of a severity, as the admin's badges have them."""
NAMES: Final[Mapping[str, StrOrPromise]] = {
    "notifications": _("Last notification"),
    "refused": _("Refused requests"),
    "refused_unknown": _("Requests for unknown projects"),
    "not_applied": _("Notifications not applied"),
    "sync_recent": _("List: recent orders"),
    "sync_open": _("List: open orders"),
    "sync_reversals": _("List: reversals"),
    "sync_all": _("List: all orders"),
    "incidents": _("Incidents"),
    "apply": _("Apply"),
    "fan_out": _("Hand to receivers"),
    "run": _("Run receivers"),
    "receivers_failing": _("Receivers that fail"),
    "receivers_given_up": _("Receivers given up"),
    "receivers_overlong": _("Receivers that run long"),
    "database": _("Database"),
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """The findings of a project, or of what all projects share (``alias`` is "", ``test`` None), the worst first."""

    alias: str
    test: bool | None
    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The worst severity."""
        return max(
            (finding.severity for finding in self.findings), key=lambda each: each.rank, default=Severity.OK
        )

    @property
    def urgent(self) -> Sequence[Finding]:
        """The findings that ask for somebody."""
        return [finding for finding in self.findings if finding.severity != Severity.OK]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What the pages show."""

    parts: Sequence[Part]
    queues: Sequence[StaffQueue]


@register.simple_tag(takes_context=True)
def checkout_health(context: Context) -> Panel:
    """Return the health, for those who may see it, and the queues whose rows the viewer may see."""
    user = context["request"].user
    queues = flows.operations.staff_queues()
    return Panel(
        parts=_parts() if user.has_perm("checkout_integration.view_health") else (),
        queues=[queue for queue in queues if user.has_perm(queue.view_permission)],
    )


def _parts() -> Sequence[Part]:
    health = flows.operations.health()
    projects = [
        Part(alias=each.alias, test=each.test, findings=health.of(each.alias)) for each in health.projects
    ]
    return [*projects, Part(alias="", test=None, findings=health.of(""))]


@register.inclusion_tag("admin/checkout_integration/severity.html")
def severity_badge(severity: Severity) -> dict[str, Any]:
    """Render a severity as a mark and a word."""
    tone, mark, word = TONES[severity]
    return {"tone": tone, "mark": mark, "word": word}


@register.filter
def finding_title(finding: Finding) -> StrOrPromise:
    """Return the title of a finding."""
    return NAMES.get(finding.name, finding.name)
