"""Findings about user.validate, for each project: validators that fail, are late, or refuse everybody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.conf import app_settings
from checkout_integration.flows.monitoring.finding import Figure, Finding, Kind, Rows
from checkout_integration.hooks import overrides
from checkout_integration.models import Notification, ValidationDecision
from checkout_integration.policy.severity import Severity

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
NEWEST: Final = 200
"""How many decisions are read at most."""
ENOUGH: Final = 10
"""How many decisions of an hour make its share of failures certain."""
SEVERAL: Final = 3
"""As many customers in a row, all of them failures, are no chance; nor are as many refusals, and nobody approved."""


REFUSALS: Final = {"approved": "no"}
KIND: Final = Kind(
    name="user_validate", title=gettext_lazy("Customers who may pay"), rows=Rows(model="validationdecision")
)


def validation_finding(project: str, now: datetime) -> Finding:
    """Return how customers were decided about."""
    newest = _decisions(project)
    if not newest:
        asks = overrides(app_settings().project(project).hooks, "validate_user", "validators")
        severity = Severity.UNKNOWN if asks else Severity.OK
        return KIND.found(_("The service has not asked about a customer yet."), severity, project=project)
    of_day = [each for each in newest if each.decided_at > now - DAY]
    of_hour = [each for each in of_day if each.decided_at > now - HOUR]
    # What was seen stays seen: without a decision of this day, the last ones count.
    judged = of_day or newest[:SEVERAL]
    failed = [each for each in judged if _failed(each)]
    in_a_row = list(takewhile(_failed, newest))
    approved = sum(each.approved for each in of_day)
    figures: dict[str, Figure] = {"decided": len(of_day), "failed": len(failed), "approved": approved}
    counts: dict[str, Figure] = {"n": _customers(failed), "all": _customers(judged)}
    if in_a_row or (of_day and failed):
        many = len(of_hour) >= ENOUGH and 2 * sum(map(_failed, of_hour)) > len(of_hour)
        text = _("The validators failed or were late for %(n)s of the last %(all)s customers (%(why)s).")
        counts["why"] = next((each.failure for each in failed if each.failure), _("late"))
        action = _("They cannot pay. Correct Hooks.validate_user; it has to answer within VALIDATE_BUDGET.")
        severity = Severity.FAILING if many or _customers(in_a_row) >= SEVERAL else Severity.WARNING
        return KIND.found(text % counts, severity, action, project=project, filters=REFUSALS, figures=figures)
    if _customers(of_day) >= SEVERAL and not approved:
        text = _("All %(all)s customers of the last 24 hours were refused (%(codes)s).")
        counts["codes"] = ", ".join(sorted({each.code for each in of_day}))
        action = _("Nobody can pay. If these are customers of yours, correct Hooks.validate_user.")
        return KIND.found(
            text % counts, Severity.WARNING, action, project=project, filters=REFUSALS, figures=figures
        )
    text = _("Customers that were asked about in the last 24 hours: %(all)s, approved: %(approved)s.")
    counts |= {"all": _customers(of_day), "approved": _customers([each for each in of_day if each.approved])}
    return KIND.found(text % counts, project=project, figures=figures)


def _decisions(project: str) -> list[ValidationDecision]:
    """Return the newest decisions about customers, the newest first; without tests of the webhook, and blocked customers."""
    rows = ValidationDecision.primary.filter(project=project).order_by("-decided_at")
    newest = rows.annotate(state=F("notification__state")).defer("reason")[:NEWEST]
    blocked = ValidationDecision.DecidedBy.BLOCK
    return [each for each in newest if each.state != Notification.State.TEST and each.decided_by != blocked]


def _failed(decision: ValidationDecision) -> bool:
    return decision.late or decision.decided_by != ValidationDecision.DecidedBy.SHOP


def _customers(decisions: Sequence[ValidationDecision]) -> int:
    """Return of how many customers they are; one without an id is a customer of their own."""
    return len({each.external_id or each.pk for each in decisions})
