"""Incidents in words: what staff read instead of codes."""

from __future__ import annotations

import pytest
from django.test import Client

from checkout_integration.admin.words import INCIDENT, REASONS, brief_incident, incident_meaning
from checkout_integration.policy import consequences, state
from checkout_integration.policy import facts as fact_rules
from checkout_integration.policy.verdict import Reason
from tests.admin import rows

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/incident/"
KINDS = {
    *(fact_rules.PAID_AND_CANCELED, fact_rules.LISTED_CANCELED_THOUGH_PAID, fact_rules.DOUBLE_LOSS),
    *(state.PARTIAL_REFUND, state.LISTED_REJECTED_WITH_TRANSACTION),
    *("unknown_status", "unknown_event", "refused_content", "not_applied"),
    *("conflict:type", "inexact:refund.amount"),
    *(f"review:{each}" for each in {*Reason, *consequences.REVIEWED} - {Reason.NONE}),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_words(kind: str) -> None:
    """A few for the list, a sentence for the page; neither is the code."""
    assert str(brief_incident(kind)) != kind
    assert str(incident_meaning(kind)).endswith(".")


def test_words_are_for_kinds_that_there_are() -> None:
    """And each says something else."""
    assert set(INCIDENT) == {kind.partition(":")[0] for kind in KINDS}
    assert len({str(text) for text, _ in INCIDENT.values()}) == len(INCIDENT)


def test_an_inexact_amount_is_shown_in_words(admin_client: Client) -> None:
    """On the list, on the incident's own page with its code, and in the order's timeline."""
    order = rows.make_order()
    incident = rows.make_incident(order, "inexact:refund.amount")
    addresses = [
        LIST,
        f"{LIST}{incident.pk}/change/",
        f"/admin/checkout_integration/order/{order.pk}/change/",
    ]
    pages = [admin_client.get(address).content.decode() for address in addresses]
    assert all("inexact amount: refund.amount" in page for page in pages)
    assert "inexact:refund.amount" in pages[1]
    assert "more digits or decimal places" in pages[1]


def test_a_review_says_why(admin_client: Client) -> None:
    """By the verdict's reason, or by the contradiction that it is about."""
    assert brief_incident("review:amount") == "payment in review: other amount"
    assert incident_meaning("review:amount") == REASONS[Reason.AMOUNT][1]
    assert brief_incident("review:conflict:amount") == "payment in review: told in two ways: amount"
    assert brief_incident("review:partial_refund") == "payment in review: refunded in part"


def test_an_unknown_kind_stands_for_itself() -> None:
    """One of an older version."""
    assert brief_incident("of old: 7") == "of old: 7"
    assert incident_meaning("of old: 7") == ""
