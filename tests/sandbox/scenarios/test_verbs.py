"""`… do VERB`: one act at a running sandbox, over its socket; what it prints, and how it ends."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
import requests

from checkout_integration.protocol.vocabulary import Event, TestingCase
from checkout_integration.sandbox import SandboxProject
from checkout_integration.sandbox.scenarios.verbs import (
    ACTS,
    DONE,
    NOT_DONE,
    UNREACHABLE,
    WITHOUT_ORDER,
    WRONG_USAGE,
    main,
)
from checkout_integration.sandbox.server.command_line import FIRST_SETTINGS
from tests.sandbox.server.test_command_line import run as started
from tests.support.documents import ROOT, block
from tests.support.sandbox.service import SIMPLE, Service


def do(service: Service, *words: str) -> int:
    """Return the exit code of the words at this sandbox."""
    return main(["--port", str(urlsplit(service.url).port), *words])


def events(service: Service) -> list[str]:
    """What the shop was sent, in order."""
    return [each.document["event"] for each in service.receiver.received]


@pytest.mark.parametrize(
    ("words", "event"),
    [
        (["decline"], Event.PAYMENT_CANCEL),
        (["cancel"], Event.PAYMENT_CANCEL),
        (["pay"], Event.PAYMENT_SUCCESS),
    ],
)
def test_an_unpaid_order(words: list[str], event: Event, service: Service) -> None:
    """Each act sends its event before the command ends."""
    service.order_id()
    assert do(service, *words, "last") == DONE
    assert events(service) == [event]


@pytest.mark.parametrize(
    ("words", "event"),
    [
        (["refund"], Event.PAYMENT_REFUND),
        (["refund", "amount=1.00"], Event.PAYMENT_REFUND),
        (["chargeback"], Event.PAYMENT_CHARGEBACK),
        (["cancel", "after_payment=true"], Event.PAYMENT_CANCEL),
        (["resend"], Event.PAYMENT_SUCCESS),
    ],
)
def test_a_paid_order(words: list[str], event: Event, service: Service) -> None:
    """Its event comes after that of the payment."""
    order_id = service.paid()
    verb, *values = words
    assert do(service, verb, order_id[:8], *values) == DONE
    assert events(service) == [Event.PAYMENT_SUCCESS, event]


def test_the_shop_decides_about_the_customer(service: Service) -> None:
    """In pre-approval mode, the payment begins with user.validate; a refusal is printed as the outcome."""
    service.sandbox.projects.update("project-1", mode="pre_approval")
    service.order_id()
    service.receiver.answers = [403]
    assert do(service, "pay", "last") == DONE
    assert events(service)[0] == Event.USER_VALIDATE


def test_a_setting_of_the_project_is_changed(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds from then on, for payments and for testing cases."""
    assert do(service, "set", "mode=pre_approval", "retry_interval=60") == DONE
    assert capsys.readouterr().out.endswith(": mode: pre_approval, retry_interval: 60\n")
    service.order_id()
    assert do(service, "pay", "last") == DONE
    assert do(service, "test", "existing_user", "external_id=ada") == DONE
    assert events(service) == [Event.USER_VALIDATE, Event.PAYMENT_SUCCESS, Event.USER_VALIDATE]
    assert do(service, "set", "mode=default") == DONE
    capsys.readouterr()
    assert do(service, "set", "secret_key=sandbox_of_next_year") == DONE
    assert capsys.readouterr().out.endswith(": secret_key: changed\n")
    assert do(service, "set", "colour=red") == NOT_DONE


def test_a_renewal_is_the_newest_order_then(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """It is paid at once; an item that a refund has in the list is no order of its own."""
    service.order_id()
    assert do(service, "pay", "last", "recurring=true") == DONE
    assert do(service, "refund", "last", "amount=1.00") == DONE
    assert do(service, "renew", "last") == DONE
    assert do(service, "chargeback", "last") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert "renew" in lines[0].partition("possible: ")[2] and lines[0].startswith("paid: ")
    assert "sent payment.chargeback (" in lines[-1] and lines[-1].endswith("possible: resend")
    assert len({re.findall(r"[0-9a-f-]{36}", line)[0] for line in lines}) == 2


def test_after_a_declined_renewal_the_agreement_is_renewed(service: Service) -> None:
    """The declined order is the newest one, and has no agreement to renew."""
    service.order_id()
    assert do(service, "pay", "last", "recurring=true") == DONE
    assert do(service, "renew", "last", "declined=true") == DONE
    assert do(service, "renew", "last") == DONE
    assert events(service) == [Event.PAYMENT_SUCCESS, Event.PAYMENT_CANCEL, Event.PAYMENT_SUCCESS]


def test_orders_are_shown(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest first, each in a line."""
    assert do(service, "orders") == DONE
    assert capsys.readouterr().out == "no order yet\n"
    first = service.paid()
    service.act(first, "refund", amount="4.00")  # the list of the service has a row of its own for it
    second = service.order_id()
    assert do(service, "orders") == DONE
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        [second, "created"],
        [first, "refunded"],
    ]


def test_orders_of_several_projects_name_theirs(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is one project, its name is not repeated."""
    order_id = service.order_id()
    service.sandbox.projects.add(SandboxProject(project_id="project-2", secret_key="sandbox_2"))
    assert do(service, "orders") == DONE
    assert capsys.readouterr().out.startswith(f"project-1 {order_id} created")


@pytest.mark.parametrize("case", TestingCase)
def test_each_testing_case(case: TestingCase, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """It is sent, and its result is printed."""
    assert do(service, "test", case, "external_id=ada") == DONE
    assert f"case: {case}" in capsys.readouterr().out
    assert len(service.receiver.received) == 1


def test_time_passes(service: Service) -> None:
    """An attempt that was refused is repeated within the command."""
    service.order_id()
    service.receiver.answers = [500]
    assert do(service, "pay", "last") == DONE
    assert do(service, "wait", "600") == DONE
    assert events(service) == [Event.PAYMENT_SUCCESS] * 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["refund", "last"], NOT_DONE, "was answered 409"),
        (["pay", "no-such-order"], NOT_DONE, "order not found a sandbox without --state forgets"),
        (["pay", "last", "colour=red"], NOT_DONE, "colour"),
        (["pay"], WRONG_USAGE, "name an order, or 'last'"),
        (["pay", "last", "now"], WRONG_USAGE, "'now' has no name"),
        (["test", "something"], WRONG_USAGE, "name a testing case: correct_payment"),
        (["wait", "soon"], WRONG_USAGE, "wait 600"),
        (["sing", "last"], WRONG_USAGE, "invalid choice"),
    ],
)
def test_what_cannot_be_done(
    words: list[str], code: int, says: str, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says why, and nothing is sent."""
    service.order_id()
    try:
        ended = do(service, *words)
    except SystemExit as error:
        ended = int(error.code or 0)
    assert (ended, says in capsys.readouterr().err) == (code, True)
    assert events(service) == []


def test_a_beginning_of_several_orders(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not guessed which one is meant."""
    begins = [service.order_id()[0] for _ in range(17)]  # more than there are hex digits
    common = max(begins, key=begins.count)
    with pytest.raises(SystemExit):
        do(service, "pay", common)
    assert "orders begin with" in capsys.readouterr().err


def test_a_beginning_of_an_old_order(service: Service) -> None:
    """However many orders came after it."""
    old = service.order_id()
    for _ in range(201):
        service.order_id()
    assert do(service, "pay", old[:12]) == DONE
    (shown,) = requests.get(f"{service.url}/_sandbox/orders?id={old[:12]}", timeout=10).json()["orders"]
    assert (shown["id"], shown["status"]) == (old, "processed")


def test_the_clock_goes_back_to_now(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """After a wait; where it is not ahead, nothing changes."""
    clock = service.sandbox.clock
    clock.advance((datetime.now(UTC) - clock.now()).total_seconds())
    clock.set_running(True)
    for words in (["600"], ["now"], ["now"]):
        assert do(service, "wait", *words) == DONE
    *_, ahead, now, again = capsys.readouterr().out.splitlines()
    times = [datetime.fromisoformat(each.removeprefix("it is ")) for each in (ahead, now, again)]
    assert times[0] - times[1] > timedelta(minutes=9)
    assert abs(times[1] - datetime.now(UTC)) < timedelta(minutes=1) > abs(times[2] - datetime.now(UTC))


def test_nobody_responds(capsys: pytest.CaptureFixture[str]) -> None:
    """It says how to start a sandbox."""
    assert main(["--port", "9", "orders"]) == UNREACHABLE
    assert "start it with manage.py checkout_sandbox" in capsys.readouterr().err


def test_the_page_names_every_verb() -> None:
    """Of docs/sandbox.md."""
    page = (ROOT / "docs/sandbox.md").read_text(encoding="utf-8")
    assert [
        verb for verb in ACTS | WITHOUT_ORDER if f"do {verb} " not in page and f"`{verb}`" not in page
    ] == []


def test_the_first_settings_are_those_of_the_quick_start() -> None:
    """What `init` prints has each line of the quick start's settings that concerns the app, and its exports."""
    printed = FIRST_SETTINGS.splitlines()
    of_app = block("docs/quickstart.md", "# mysite/settings.py").partition("CHECKOUT_INTEGRATION = ")[2]
    exports = block(
        "docs/quickstart.md",
        "$ export CHECKOUT_PROJECT_ID=my-shop CHECKOUT_SECRET_KEY=sandbox_secret_of_my_shop "
        "CHECKOUT_URL=http://127.0.0.1:8090",
    )
    needed = [*of_app.splitlines()[1:], *(line.removeprefix("$ ") for line in exports.splitlines())]
    assert [line for line in needed if line not in printed] == []


def test_each_exchange_is_a_line() -> None:
    """Of the shop's calls and of what is sent to it; none with --quiet. No secret is in it."""
    for quiet in ([], ["--quiet"]):
        with started(*quiet, SANDBOX_PROJECT_ID="project-1") as process:
            assert process.stdout
            url = process.stdout.readline().split()[1]
            requests.post(f"{url}/api/v1/order", json=SIMPLE, timeout=10)
            process.terminate()
            printed = process.stdout.read()
        assert ("<- POST /api/v1/order 200\n" in printed) == (not quiet)
        assert "sandbox_secret" not in printed
