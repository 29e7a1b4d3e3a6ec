"""Staff read plain words: those of the code and its machinery stand in the engine room only, which explains them once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.test import Client

from checkout_integration.admin.site.labels import NOTIFICATION_STATES, RUN_STATES, VERDICTS
from checkout_integration.models import Installation, SyncDifference
from checkout_integration.policy.verdict import Reason
from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.templatetags.checkout_health import OF_THE_DESK
from tests.languages.pseudo import UnmarkedTexts
from tests.support.admin import rows
from tests.support.admin.screens import SCREENS, make_row, page_address

pytestmark = pytest.mark.django_db
ADMIN: Final = "/admin/checkout_integration/"
WORDS: Final = re.compile(
    r"(?<![\w.–-])(verdicts?|bound|binds?|binding|lanes?|superseded|quarantined?|historic|signals?|dispatch(ed|es)?|drift|"
    r"fan(s|ned)? out|receivers?)(?![\w-]|\.\w)",
    re.IGNORECASE,
)
FOLDED: Final = ("ci-engine", "ci-raw")
"""Parts of the page of an order that are the engine room, or as the service sent them."""
ENGINE_ROOM: Final = {"outboxmessage", "syncrun", "notification", "receiverrun", "validationdecision"}
DESK: Final = [screen for screen in SCREENS if screen not in ENGINE_ROOM]
BUTTON: Final = re.compile(
    r'<(?:a class="button[^"]*" href|form method="post" action)="([^"]*/[0-9]+/(?!evidence/)[a-z-]+/)"'
)


class Shown(UnmarkedTexts):
    """The texts of a page, without what is folded away as the engine room, and without Django's list of all screens."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        folded = attributes.get("class") in FOLDED or attributes.get("id") == "nav-sidebar"
        super().handle_starttag(tag, [*attrs, ("translate", "no")] if folded else attrs)


def words_of(html: str) -> list[str]:
    """The words of the machinery on a page, each with the text that it stands in."""
    texts = [re.sub(r"manage\.py [^.,;”]*", "", " ".join(text.split())) for text in Shown(html).found]
    return sorted({text for text in texts if WORDS.search(text)})


def words_on(client: Client, address: str, posted: dict[str, Any] | None = None) -> list[str]:
    """The same of an address, or of the page that a form leads to."""
    response = client.get(address) if posted is None else client.post(address, posted, follow=True)
    assert response.status_code == 200, address
    return words_of(response.content.decode())


def words_behind(client: Client, address: str) -> list[str]:
    """The same of the page of a row, of all that its buttons ask, and of what they say to an empty form."""
    found = words_on(client, address)
    for button in BUTTON.findall(client.get(address).content.decode()):
        found += [*words_on(client, button), *words_on(client, button, {})]
    return found


def test_the_engine_room_is_that_of_the_front_page() -> None:
    """A screen that is added later is of the desk, unless the front page has it among the machinery."""
    assert set(OF_THE_DESK).isdisjoint(ENGINE_ROOM)
    assert set(SCREENS) - set(OF_THE_DESK) == {*ENGINE_ROOM, "staffact"}


@pytest.mark.parametrize("screen", DESK)
def test_lists_and_pages(admin_client: Client, screen: str) -> None:
    """Empty, with a row, and the row with its buttons."""
    assert words_on(admin_client, f"{ADMIN}{screen}/") == []
    row = make_row(screen)
    assert words_on(admin_client, f"{ADMIN}{screen}/") == []
    assert words_behind(admin_client, page_address(screen, row)) == []


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        *((OrderStatus.PROCESSED, verdict) for verdict in VERDICTS),
        *((status, "verified") for status in (OrderStatus.CHARGEBACK, OrderStatus.CREATED)),
    ],
)
def test_an_order_in_every_state(admin_client: Client, verdict: str, status: str) -> None:
    """With runs and notifications in all of theirs."""
    reason: dict[str, Any] = {
        "verdict": verdict,
        "verdict_reason": Reason.UNBOUND if verdict == "review" else "",
    }
    order = rows.make_order(checkout=rows.make_checkout(), status=status, **reason)
    for state in RUN_STATES:
        rows.make_granting_run(
            order, state=state, attempts=2, error="KeyError", receiver=f"shop.goods.{state}"
        )
    for state in NOTIFICATION_STATES:
        rows.make_notification(order.order_id, state=state)
    assert words_behind(admin_client, page_address("order", order)) == []
    assert words_on(admin_client, f"{ADMIN}order/") == []


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_a_review(admin_client: Client, reason: str) -> None:
    """In the list, on the page, and where somebody accepts the payment."""
    order = rows.make_order(verdict="review", verdict_reason=reason)
    page = page_address("order", order)
    assert words_on(admin_client, page) == []
    assert words_on(admin_client, page.replace("/change/", "/accept/")) == []
    assert words_on(admin_client, f"{ADMIN}order/") == []


def test_actions_on_selected_orders(admin_client: Client) -> None:
    """The question, and what was done."""
    order = rows.make_order()
    rows.make_run(order, state="failed", attempts=10, error="KeyError")
    for action in ("check_selected", "run_selected"):
        chosen = {"action": action, "_selected_action": [str(order.pk)]}
        assert words_on(admin_client, f"{ADMIN}order/", chosen) == []
        assert words_on(admin_client, f"{ADMIN}order/", {**chosen, "confirmed": "yes"}) == []


def test_reports_and_the_front_page(admin_client: Client) -> None:
    """Money, reconciliation, health and failures: without anything, and with everything that can be wrong."""
    pages = ["money/", "syncdifference/", "installation/", "failures/"]
    for page in pages:
        assert words_on(admin_client, f"{ADMIN}{page}") == [], page
    long_ago = datetime.now(UTC) - timedelta(days=9)
    Installation.objects.update_or_create(project="default", defaults={"installed_at": long_ago})
    for state in ("failed", "due", "running", "unknown", "waiting"):
        rows.make_granting_run(
            rows.make_order(), state=state, attempts=10, due_at=long_ago, receiver="shop.goods"
        )
    for state in ("failed", "quarantined"):
        rows.make_waiting_notification(state)
    run = rows.make_sync_run(lane="all")
    for kind in ("missing_here", "status", "unknown"):
        found = {"run": run, "project": "default", "order_id": "order-1", "found_at": run.started_at}
        SyncDifference.objects.create(kind=kind, waiting_key=kind, **found)
    for page in pages:
        assert words_on(admin_client, f"{ADMIN}{page}") == [], page
    html = admin_client.get(ADMIN).content.decode()
    desk, _room, machinery = html.partition('id="ci-engine-room"')
    assert words_of(desk.partition('id="content-main"')[0]) == []
    explained = words_of(machinery)
    assert len(explained) == 1 and "A receiver is a function of the shop" in explained[0]


def test_a_word_of_the_machinery_is_seen() -> None:
    """The search itself: in a text and in a spoken attribute; not in a name, in a command, or in what is folded away."""
    html = '<p>Two receivers.</p><p title="the verdict">x</p><p>shop.receivers.goods, manage.py sync --lane all</p>'
    assert words_of(html) == ["Two receivers.", "the verdict"]
    assert words_of('<details class="ci-engine"><p>signal</p></details><p>bound</p>') == ["bound"]
