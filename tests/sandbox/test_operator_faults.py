"""The operator's page switches faults on and off, and shows which struck."""

from __future__ import annotations

import re

import pytest

from checkout_integration.sandbox.faults_catalogue import KINDS, FaultKind
from tests.sandbox.service import Service
from tests.sandbox.test_operator import look, press


def shown(service: Service) -> list[list[str]]:
    """Return the rows of the page's table of faults, as texts."""
    part = look(service).text.partition('aria-labelledby="faults"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><td>(.*?)</tr>", part)
    return [[re.sub("<[^>]*>", "", cell) for cell in row.split("</td>")[:5]] for row in rows]


def test_a_fault_strikes_as_often_as_it_was_told(service: Service) -> None:
    """The first message of a payment comes twice; then the fault is over, and the page says so."""
    order_id = service.order_id()
    press(service, "faults", fault="notification:duplicate", subject="payment.success", times="1")
    assert shown(service) == [["Notifications", "duplicate", "payment.success", "0 of 1", "on"]]
    press(service, f"orders/{order_id}/pay")
    assert service.receiver.events == ["payment.success"] * 2
    assert shown(service) == [["Notifications", "duplicate", "payment.success", "1 of 1", "over"]]


def test_one_more_leaves_the_others_as_they_are(service: Service) -> None:
    """What has struck before does not begin anew."""
    press(service, "faults", fault="notification:drop", times="1")
    press(service, f"orders/{service.order_id()}/pay")
    press(service, "faults", fault="list:lying_count", times="", number="7")
    assert [row[3] for row in shown(service)] == ["1 of 1", "0 of any number"]
    press(service, "faults/off")
    assert shown(service) == []


def test_every_fault_can_be_chosen(service: Service) -> None:
    """But the one that leads to another server."""
    page = look(service).text
    offered = set(re.findall(r'<option value="(\w+:\w+)"', page))
    kinds = {f"{point}:{kind}" for point, kinds in KINDS.items() for kind in kinds}
    assert kinds - offered == {f"api:{FaultKind.REDIRECT}"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"fault": "moon:drop"}, "point must be one of"),
        ({"fault": "api:slow", "seconds": "-1"}, "seconds must be a whole number"),
        ({"fault": "api:slow", "subject": "payment.success"}, "subject must be one of tokens"),
    ],
)
def test_a_fault_that_cannot_strike_is_refused(service: Service, fields: dict[str, str], words: str) -> None:
    """With what would be possible, and a way back; nothing is switched on."""
    page = press(service, "faults", **fields)
    assert (page.status_code, words in page.text) == (400, True)
    assert shown(service) == []
