"""Incidents in plain sentences instead of codes."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client

from checkout_integration.admin.screens.incidents import IncidentAdmin
from checkout_integration.admin.site.reasons import INCIDENTS, REASONS, incident_label, incident_sentence
from checkout_integration.models import Incident, StaffAct
from checkout_integration.policy import contradictions, drift, incidents, refunds
from checkout_integration.policy.verdict import Reason
from tests.support.admin import rows
from tests.support.admin.screens import page_address

pytestmark = pytest.mark.django_db
LIST = "/admin/checkout_integration/incident/"
KINDS = {
    *(
        contradictions.PAID_AND_CANCELED,
        contradictions.LISTED_CANCELED_THOUGH_PAID,
        contradictions.DOUBLE_LOSS,
    ),
    contradictions.REVERSAL_AFTER_DECISION,
    *(
        contradictions.LISTED_REJECTED_WITH_TRANSACTION,
        contradictions.NEGATIVE_CHARGE,
        contradictions.ZERO_CHARGE,
        refunds.REFUND_EXCEEDED,
        refunds.REFUND_CURRENCY,
        refunds.REFUND_MIXED,
        refunds.REFUND_AMOUNT,
    ),
    *("unknown_status", "unknown_event", "refused_content", "not_applied", drift.REVERSAL_UNDONE),
    *("conflict:type", "inexact:refund.amount", "unreadable:amount"),
    *(f"review:{each}" for each in {*Reason, *incidents.REVIEWED} - {Reason.NONE}),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_words(kind: str) -> None:
    """A few for the list, a sentence for the page; neither is the code."""
    assert str(incident_label(kind)) != kind
    assert str(incident_sentence(kind)).endswith(".")


def test_words_are_for_kinds_that_there_are() -> None:
    """And each says something else."""
    assert set(INCIDENTS) == {kind.partition(":")[0] for kind in KINDS}
    assert len({str(text) for text, _ in INCIDENTS.values()}) == len(INCIDENTS)


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
    assert incident_label("review:amount") == "payment in review: other amount"
    assert incident_sentence("review:amount") == REASONS[Reason.AMOUNT][1]
    assert incident_label("review:conflict:amount") == "payment in review: conflicting values: amount"
    assert incident_label("review:refund_mixed") == "payment in review: refunded in two currencies"


def test_an_unknown_kind_stands_for_itself() -> None:
    """One of an older version."""
    assert incident_label("of old: 7") == "of old: 7"
    assert incident_sentence("of old: 7") == ""


def resolve_address(incident: Incident) -> str:
    """The address of the button."""
    return page_address("incident", incident).replace("/change/", "/resolve/")


def test_staff_resolve_an_incident(client: Client) -> None:
    """It leaves the list of open ones; its page, the order's timeline and the log name who did it."""
    incident = rows.make_incident(rows.make_order(), "review:amount")
    client.force_login(rows.make_staff("view_incident", "change_incident", "view_order", name="grace"))
    page = client.get(page_address("incident", incident)).content.decode()
    assert resolve_address(incident) in page
    html = client.post(resolve_address(incident), follow=True).content.decode()
    assert "The incident is resolved." in html and "grace" in html
    assert resolve_address(incident) not in html
    assert not client.get(f"{LIST}?resolved_at_known=no").context["cl"].result_list
    act = StaffAct.objects.get()
    assert (act.act, act.incident, act.order, str(act.actor)) == (
        "resolve",
        incident,
        incident.order,
        "grace",
    )
    timeline = client.get(page_address("order", incident.order)).content.decode()
    assert "incident resolved" in timeline and "by grace" in timeline


def test_an_incident_without_an_order_is_resolved_too(admin_client: Client) -> None:
    """The act is about the incident alone."""
    incident = rows.make_incident(None, "refused_content")
    admin_client.post(resolve_address(incident))
    assert Incident.objects.exclude(resolved_at=None).get().staff == User.objects.get()
    act = StaffAct.objects.get()
    assert (act.incident, act.order) == (incident, None)


def test_payments_of_others_are_counted_and_found(client: Client) -> None:
    """Their incident links to them; whoever may not view orders sees the number alone."""
    waiting = [rows.make_order(verdict="review", verdict_reason="unbound") for _ in range(2)]
    rows.make_order(verdict="verified")
    rows.make_order(verdict="review", verdict_reason="unbound", status="refunded")
    incident = rows.make_incident(None, "review:unbound")
    client.force_login(rows.make_staff("view_incident", "view_order"))
    html = client.get(page_address("incident", incident)).content.decode()
    (address,) = re.findall(r'href="([^"]*/order/[?][^"]*)">Show the payments in review<', html)
    rows.make_order(verdict="review", verdict_reason="amount", checkout=rows.make_checkout())
    assert set(waiting) == set(client.get(unescape(address)).context["cl"].result_list)
    client.force_login(rows.make_staff("view_incident", name="eve"))
    hidden = client.get(page_address("incident", incident)).content.decode()
    assert "/order/?" not in hidden
    assert all("payments in review now" in page.lower() for page in (html, hidden))
    assert IncidentAdmin(Incident, site).payments(incident) == "2"


def test_resolving_asks_first(admin_client: Client) -> None:
    """A GET shows the question and changes nothing."""
    incident = rows.make_incident(None)
    assert "marked as resolved" in admin_client.get(resolve_address(incident)).content.decode()
    assert Incident.objects.get().resolved_at is None


def test_a_second_click_says_so(admin_client: Client) -> None:
    """And the first one stands."""
    incident = rows.make_incident(None)
    admin_client.post(resolve_address(incident))
    first = Incident.objects.get().resolved_at
    answer = admin_client.post(resolve_address(incident), follow=True)
    assert "is not possible any more" in answer.content.decode()
    assert Incident.objects.get().resolved_at == first
