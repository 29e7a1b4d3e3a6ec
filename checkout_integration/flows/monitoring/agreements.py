"""Whether renewals come, where recurring payments last for some days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration.flows.monitoring.backlog import MOST_COUNTED, shown_count
from checkout_integration.flows.monitoring.finding import Finding, Kind, Rows
from checkout_integration.models import Checkout, Grant
from checkout_integration.policy.severity import Severity

WITHIN: Final = timedelta(days=7)
FEWEST: Final = 5
"""Agreements that end by chance: a customer may end one."""
RENEWALS: Final = Kind(
    name="renewals",
    title=gettext_lazy("Renewals"),
    rows=Rows(model="checkout", filters={"agreement": "not_renewed"}),
)


def renewal_findings(projects: Sequence[str], now: datetime) -> Iterator[Finding]:
    """Yield how many agreements ended in a week, and whether anybody's was renewed. One that ends is no fault."""
    ended = Checkout.primary.filter(owned_until__gt=now - WITHIN, owned_until__lte=now, project__in=projects)
    recurring = ended.filter(status=Checkout.Status.PAID, paid_order__recurring_id__gt="")
    count = len(recurring.values_list("pk", flat=True)[:MOST_COUNTED])
    text, figures = _("Agreements with renewals that ended in the last week: %(n)s."), {"ended": count}
    text %= {"n": shown_count(count)}
    renewals = Grant.primary.filter(renewal=True, opened_at__gt=now - WITHIN, project__in=projects)
    if count < FEWEST or renewals.exists():
        yield RENEWALS.found(text, figures=figures)
        return
    stopped = _("None was renewed in that time.")
    action = _("Compare with the service: it may have stopped to renew, or to say so.")
    yield RENEWALS.found(f"{text} {stopped}", Severity.WARNING, action, figures=figures)
