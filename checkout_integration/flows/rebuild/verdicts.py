"""The checkout and the verdict of an order, once more: by the rules of the ledger, and by what staff did."""

from __future__ import annotations

from dataclasses import replace

from checkout_integration.conf import Project
from checkout_integration.flows.ledger import terms_of, terms_of_unbound, verdict_of
from checkout_integration.flows.rebuild.evidence import Evidence, Gap
from checkout_integration.hooks import overrides
from checkout_integration.models import Checkout, Transition
from checkout_integration.policy.verdict import PENDING, Reason, Terms, Verdict, VerdictStatus, judge

BY_STAFF = Verdict(VerdictStatus.ACCEPTED, Reason.BY_STAFF)


def checkout_of(project: Project, evidence: Evidence) -> Checkout | None:
    """Return the checkout that the order is bound to: the stored one, unless nothing explains it.

    An order is bound once: by its id, by a reference in one of its observations, by staff, or by the shop's hook, whose
    results are not stored.
    """
    stored, named = evidence.row.checkout, evidence.checkouts
    if stored is None:
        return named[0] if named else None
    by_hand = evidence.did(Transition.Act.BIND) or overrides(project.hooks, "resolve_checkout")
    explained = by_hand or evidence.gaps or stored.pk in [checkout.pk for checkout in named]
    return stored if explained else (named[0] if named else None)


def verdict_on(project: Project, evidence: Evidence, checkout: Checkout | None) -> Verdict:
    """Return the verdict on the order's state.

    Where only settings that are not those of now explain the stored one, it stands, and the gap is noted.
    """
    stored, value = verdict_of(evidence.row), checkout.value if checkout else None
    terms = terms_of_unbound(project) if checkout is None else terms_of(project)
    verdict = judge(evidence.state, value, terms, before=_by_staff(evidence, stored))
    if checkout is not None or verdict in (stored, BY_STAFF):
        return verdict
    before = stored if stored.reason == Reason.BY_SETTING else PENDING
    if stored not in [judge(evidence.state, value, other, before=before) for other in _other_settings(terms)]:
        return verdict
    evidence.gaps.add(Gap.SETTINGS)
    return stored


def _by_staff(evidence: Evidence, stored: Verdict) -> Verdict:
    """Return the acceptance by staff that stands, if there is one: restoring a payment accepts what was not verified."""
    restored = evidence.did(Transition.Act.RESTORE) and stored == BY_STAFF
    return BY_STAFF if restored or evidence.did(Transition.Act.ACCEPT) else PENDING


def _other_settings(terms: Terms) -> list[Terms]:
    """Return the terms that the project may have had when it judged an order without a checkout.

    What a setting accepted needs none: it stays accepted when the setting changes.
    """
    return [replace(terms, accept_unbound=False, accept_test=accept_test) for accept_test in (False, True)]
