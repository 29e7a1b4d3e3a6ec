"""Changes of orders in words for staff. Their ``summary`` is in the words of programs, for logs and terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from checkout_integration.admin.site import (
    CHECKOUT_STATUSES,
    NOTHING,
    NOTIFICATION_STATES,
    ORDER_STATUSES,
    VERDICTS,
    StateLabel,
    incident_label,
    label_of,
    reason_label,
    visible,
)

if TYPE_CHECKING:
    from checkout_integration.flows.inbox import Application
    from checkout_integration.flows.ledger import ChangePreview


def application_in_words(application: Application) -> str:
    """Return what came of a notification: the changes, or why there are none."""
    if application.changes and not application.reason:
        return "; ".join(", ".join(_parts(change)) for change in application.changes)
    return without_changes(application)


def without_changes(application: Application) -> str:
    """Return the state of a notification that changes nothing, with the reason where it is not applied."""
    state = str(label_of(NOTIFICATION_STATES, application.state).text)
    text = visible(application.reason) or (_("nothing changes") if application.applied else "")
    return f"{state}: {text}" if text else state


def change_cells(change: ChangePreview) -> list[str]:
    """Return the changes of an order, its verdict and its checkout, then signals and incidents."""
    return [
        f"{visible(change.order_id)}: {_order_step(change)}",
        _step(verdict_in_words(change.verdict_before), verdict_in_words(change.verdict_after)),
        _checkout_step(change) if change.checkout else NOTHING,
        ", ".join(change.signals) or NOTHING,
        _incidents(change) or NOTHING,
    ]


def verdict_in_words(verdict: str) -> str:
    """Return a verdict of a preview, "review (amount)", in words."""
    status, _bracket, reason = verdict.rstrip(")").partition(" (")
    text = str(label_of(VERDICTS, status).text)
    return f"{text} ({reason_label(reason)})" if reason else text


def _parts(change: ChangePreview) -> Iterator[str]:
    yield _("order %(order)s: %(step)s") % {"order": visible(change.order_id), "step": _order_step(change)}
    verdicts = verdict_in_words(change.verdict_before), verdict_in_words(change.verdict_after)
    yield _("verdict: %(step)s") % {"step": _step(*verdicts)}
    if change.checkout:
        names = {"checkout": visible(change.checkout), "step": _checkout_step(change)}
        yield _("checkout %(checkout)s: %(step)s") % names
    yield _("signals: %(names)s") % {"names": ", ".join(change.signals) or NOTHING}
    if change.incidents:
        yield _("incidents: %(kinds)s") % {"kinds": _incidents(change)}


def _order_step(change: ChangePreview) -> str:
    after = _word(ORDER_STATUSES, change.status_after)
    return _step(
        _word(ORDER_STATUSES, change.status_before) if change.status_before else _("not known"), after
    )


def _checkout_step(change: ChangePreview) -> str:
    words = (_word(CHECKOUT_STATUSES, status) for status in (change.checkout_before, change.checkout_after))
    return _step(*words)


def _word(labels: Mapping[str, StateLabel], code: str) -> str:
    return str(label_of(labels, code).text)


def _incidents(change: ChangePreview) -> str:
    return ", ".join(str(incident_label(kind)) for kind in change.incidents)


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"
