"""The operator's page switches faults on and off, and shows which struck."""

from __future__ import annotations

import re

import pytest

from checkout_integration.sandbox.faults.catalogue import KINDS, FaultKind
from checkout_integration.sandbox.faults.switchboard import Fault
from tests.sandbox.operator.test_overview import look, press
from tests.support.sandbox.service import Service


def shown(service: Service) -> list[list[str]]:
    """Return the rows of the page's table of faults, as texts."""
    part = look(service).text.partition('aria-labelledby="faults"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr><td>(.*?)</tr>", part)
    return [[re.sub("<[^>]*>", "", cell) for cell in row.split("</td>")[:6]] for row in rows]


def test_a_fault_strikes_as_often_as_its_rule_says(service: Service) -> None:
    """The first message of a payment comes twice; then the fault is over, and the page says so."""
    order_id = service.order_id()
    press(service, "faults", fault="notification:duplicate", subject="payment.success", times="1")
    assert shown(service) == [["Notifications", "duplicate", "payment.success", "", "0 of 1", "on"]]
    press(service, f"orders/{order_id}/pay")
    assert service.receiver.events == ["payment.success"] * 2
    assert shown(service) == [["Notifications", "duplicate", "payment.success", "", "1 of 1", "used up"]]


def test_one_more_leaves_the_others_as_they_are(service: Service) -> None:
    """Counts of other faults do not begin anew."""
    press(service, "faults", fault="notification:drop", times="1")
    press(service, f"orders/{service.order_id()}/pay")
    press(service, "faults", fault="list:lying_count", times="", number="7")
    assert [row[4] for row in shown(service)] == ["1 of 1", "0 of any number"]
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
        ({"fault": "api:slow", "seconds": "soon"}, "“Seconds” must be a whole number."),
        ({"fault": "api:slow", "seconds": "-1"}, "“Seconds” must not be below zero."),
        ({"fault": "api:slow", "times": "-1"}, "“Times” must not be below zero."),
        ({"fault": "list:lying_count", "number": "5000000000"}, "“Number” must be below 1,000,000,000."),
        ({"fault": "list:lying_count", "number": "-1.5"}, "“Number” must be a whole number."),
        (
            {"fault": "api:slow", "subject": "payment.success"},
            "“Only for” must be all of them, or one of tokens",
        ),
    ],
)
def test_a_fault_that_cannot_strike_is_refused(service: Service, fields: dict[str, str], words: str) -> None:
    """With the possible values and a link back; no fault is switched on."""
    page = press(service, "faults", **fields)
    assert (page.status_code, words in page.text) == (400, True)
    assert 'href="/_sandbox/"' in page.text
    assert shown(service) == []


def test_a_refused_fault_is_still_typed(service: Service) -> None:
    """So that the one wrong setting can be mended."""
    typed = {"times": "3", "seconds": "soon", "number": "4", "status": "503"}
    page = press(service, "faults", fault="api:server_error", subject="tokens", **typed).text
    assert {name: re.findall(f'name="{name}" value="([^"]*)"', page) for name in typed} == {
        name: [value] for name, value in typed.items()
    }
    assert re.findall(r'value="([^"]*)" selected', page) == ["api:server_error", "tokens"]


def test_a_number_may_be_below_zero(service: Service) -> None:
    """A list that lies about its count, as the table of faults has it."""
    press(service, "faults", fault="list:lying_count", number="-5")
    assert service.listed().json()["count"] == -5


def test_the_settings_of_a_fault_are_shown(service: Service) -> None:
    """Those that its kind makes use of, and the others where they are not as usual."""
    press(service, "faults", fault="api:server_error", status="503", seconds="9")
    press(service, "faults", fault="list:lying_count", number="-5")
    service.sandbox.faults.add(
        Fault(point="notification", kind="delay", seconds=0.5, skip=1, probability=0.25)  # type: ignore[arg-type]
    )
    assert [row[3] for row in shown(service)] == [
        "status 503",
        "number -5",
        "seconds 0.5, skip 1, probability 0.25",
    ]
