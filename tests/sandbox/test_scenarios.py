"""Scenarios: each that is shipped ends as expected at the Django receiver, over real sockets; files and exit codes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import ManagementUtility
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from checkout_integration import flows
from checkout_integration.flows import installation
from checkout_integration.hooks import Hooks
from checkout_integration.models import Announcement, Order
from checkout_integration.protocol.user import User
from checkout_integration.sandbox import Sandbox
from checkout_integration.sandbox.scenario_command import (
    AS_EXPECTED,
    NOT_AS_EXPECTED,
    UNREACHABLE,
    WRONG_USAGE,
    main,
)
from checkout_integration.sandbox.scenario_file import (
    VERBS,
    ScenarioError,
    find_scenarios,
    read_scenario,
    shipped_scenarios,
    span_of,
)
from checkout_integration.testing.service import running_sandbox

SCENARIOS = shipped_scenarios()
FIELD_NOTES = set(
    "success_with_status_created refund_before_success late_retry_after_refund decline_and_try_again cancel_after_success"
    " refund_is_a_second_item chargeback_says_refunded duplicate_with_new_delivery_try rotated_secret testing_cases"
    " refused_for_48_hours zero_times_and_odd_shapes order_by_a_stranger".split()
)
PREVIOUS = "sandbox_secret_from_before"
SMALLEST = "title: A payment\nsteps:\n  - create: first\n  - pay: first\n"


class KnowsAda(Hooks):
    """The shop knows one customer."""

    def validate_user(self, user: User) -> bool:
        """Approve her alone."""
        return user.external_id == "ada"


def order_status(request: HttpRequest, order_id: str) -> JsonResponse:
    """Tell a scenario what the shop has made of an order."""
    order = Order.objects.get(order_id=order_id)
    flows.run_deliveries()
    granted = Announcement.objects.filter(order=order, signal="checkout_paid").exists()
    return JsonResponse({"status": order.status, "goods": "granted" if granted else "none"})


@csrf_exempt
def sync(request: HttpRequest) -> HttpResponse:
    """Read the list when a scenario asks for it."""
    return JsonResponse({"state": flows.sync_transactions().state})


urlpatterns = [
    path("checkout/", include("checkout_integration.urls")),
    path("shop/orders/<order_id>/", order_status),
    path("shop/sync/", sync),
]


@pytest.fixture
def shop(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set up a shop that tells what it knows, knows Ada, and takes its previous secret."""
    monkeypatch.setattr(installation, "_known", set())
    settings.ROOT_URLCONF = __name__
    own = {**settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"], "PREVIOUS_SECRET_KEYS": [PREVIOUS]}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {"default": own},
        "HOOKS": f"{__name__}.KnowsAda",
    }
    return settings


@pytest.fixture(params=["field", "spec"])
def checkout_sandbox(request: pytest.FixtureRequest, shop: Any, live_server: Any) -> Iterator[Sandbox]:
    """Run the sandbox of the test kit after the shop is set up, in each profile."""
    with running_sandbox(shop, live_server.url, profile=request.param) as sandbox:
        yield sandbox


@pytest.fixture
def quiet(tmp_path: Path) -> str:
    """Give a scenario that sends nothing to speak of."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALLEST)
    return str(file)


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Give a loopback address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def play(sandbox: Sandbox, shop_url: str, *arguments: str) -> int:
    """Play scenarios to the shop, at the sandbox that runs."""
    (project,) = sandbox.projects.all()
    given = {
        "--host": "127.0.0.1",
        "--port": str(urlsplit(sandbox.public_url).port),
        "--project-id": project.project_id,
        "--secret-key": project.secret_key,
        "--previous-secret-key": PREVIOUS,
        "--known-user": "ada",
        "--status-url": f"{shop_url}/shop/orders/{{order_id}}/",
        "--sync-url": f"{shop_url}/shop/sync/",
    }
    return main([*(part for pair in given.items() for part in pair), *arguments])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_shipped_scenario_ends_as_expected(
    scenario: Any, checkout_sandbox: Sandbox, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the real receiver; nothing is left out, no secret is printed, and the sandbox is left as it was."""
    if scenario.profile not in {"", checkout_sandbox.profile.name}:
        pytest.skip(f"a story of the profile {scenario.profile}")
    code = play(checkout_sandbox, live_server.url, scenario.name)
    log = capsys.readouterr().out
    assert code == AS_EXPECTED, log
    assert "left out" not in log
    assert PREVIOUS not in log and checkout_sandbox.projects.all()[0].secret_key not in log
    assert checkout_sandbox.projects.all()[0].mode == "default"
    assert checkout_sandbox.faults.document()["rules"] == []
    assert abs(checkout_sandbox.clock.ahead()) < timedelta(minutes=1)


def test_the_field_notes_are_shown() -> None:
    """Every row of the field notes that a merchant should see once is a scenario."""
    assert {scenario.name for scenario in SCENARIOS} >= FIELD_NOTES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["success_with_status_created", "rotated_secret"])
def test_a_sabotaged_receiver_is_found_out(
    name: str, checkout_sandbox: Sandbox, shop: Any, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A receiver that verifies with another secret fails the story, and the log names the step."""
    own = {**shop.CHECKOUT_INTEGRATION["PROJECTS"]["default"], "SECRET_KEY": "sandbox_of_someone_else"}
    shop.CHECKOUT_INTEGRATION = {**shop.CHECKOUT_INTEGRATION, "PROJECTS": {"default": own}}
    assert play(checkout_sandbox, live_server.url, name) == NOT_AS_EXPECTED
    log = capsys.readouterr().out
    assert "payment.success answered 401" in log
    assert "answers payment.success 401, not payment.success 200" in log
    assert "NOT expect" in log and f"NOT AS EXPECTED: {name}." in log


@pytest.mark.django_db(transaction=True)
def test_the_result_as_json(
    checkout_sandbox: Sandbox, live_server: Any, quiet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps with what was seen and what the shop answered; the log goes to stderr."""
    assert play(checkout_sandbox, live_server.url, "--json", quiet) == AS_EXPECTED
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    (scenario,) = told["scenarios"]
    assert (told["ok"], scenario["name"], scenario["title"]) == (True, "small", "A payment")
    assert [(step["verb"], step["ok"], step["answers"]) for step in scenario["steps"]] == [
        ("create", True, []),
        ("pay", True, ["payment.success answered 200"]),
    ]
    assert "A payment" in printed.err


@pytest.mark.django_db(transaction=True)
def test_a_sandbox_is_started_where_none_runs(shop: Any, live_server: Any, quiet: str, capsys: Any) -> None:
    """In memory, for as long as the story lasts; what a story needs and does not get leaves it out."""
    secret = shop.CHECKOUT_INTEGRATION["PROJECTS"]["default"]["SECRET_KEY"]
    webhook = f"{live_server.url}/checkout/webhook/"
    code = main(["--port", "0", "--secret-key", secret, "--webhook-url", webhook, quiet, "rotated_secret"])
    assert code == AS_EXPECTED
    printed = capsys.readouterr().out
    assert "payment.success answered 200" in printed
    assert "left out: needs --previous-secret-key" in printed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("words", [["rotated_secret"], ["scenarios/rotated_secret.yaml", "--", "--json"]])
def test_as_a_command_of_the_shop(
    words: list[str], checkout_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """``manage.py checkout_sandbox run`` takes addresses and secrets, the previous one too, from the settings."""
    with pytest.raises(SystemExit) as end:
        ManagementUtility(["manage.py", "checkout_sandbox", "run", *words]).execute()
    printed = capsys.readouterr().out
    assert end.value.code == AS_EXPECTED, printed
    assert "left out" not in printed.replace('"left_out": ""', "")
    assert PREVIOUS not in printed


def test_as_a_process(nowhere: str) -> None:
    """``python -m checkout_integration.sandbox run``."""
    words = [
        "-m",
        "checkout_integration.sandbox",
        "run",
        "--port",
        "0",
        "--webhook-url",
        nowhere,
        "rotated_secret",
    ]
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == UNREACHABLE, ended.stderr


def test_a_shop_that_is_not_there(nowhere: str, quiet: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and what to do."""
    assert main(["--port", "0", "--webhook-url", nowhere, quiet]) == UNREACHABLE
    assert "start it first" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--colour"],
        ["no_such_story"],
        ["--port", "0", "success_with_status_created"],
        [
            "--port",
            "0",
            "--secret-key",
            "a-real-secret",
            "--webhook-url",
            "http://127.0.0.1:1",
            "lost_notification",
        ],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    """Exit code 2."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == WRONG_USAGE


def test_the_shipped_ones_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with the title; the way the README writes a name finds it."""
    assert main(["--list"]) == AS_EXPECTED
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [scenario.name for scenario in SCENARIOS]
    assert find_scenarios("scenarios/rotated_secret.yaml") == find_scenarios("rotated_secret")
    assert find_scenarios("scenarios/") == SCENARIOS


def test_the_page_names_every_step_and_setting() -> None:
    """docs/scenarios.md is the reference of whoever writes one."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "scenarios.md").read_text("utf-8")
    names = {name for verb, (_, settings) in VERBS.items() for name in (verb, *settings) if verb != "fault"}
    assert {name for name in names if f"`{name}`" not in page} == {"why"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- a list", "a title and a list of steps"),
        ("title: [", "x.yaml"),
        ("title: x\nsteps: []\ncolour: red", "unknown: colour"),
        ("title: x\nneeds: [moon]\nsteps: []", "unknown: moon"),
        ("title: x\nsteps: [{fly: first}]", "step 1: unknown verb 'fly'"),
        ("title: x\nsteps: [{pay: first, refund: first}]", "step 1: a step is one verb"),
        ("title: x\nsteps: [sync, {pay: {order: first, tip: 3}}]", "step 2: pay has no tip"),
    ],
)
def test_a_file_that_is_no_scenario(text: str, complaint: str) -> None:
    """The message names the file, the step and the mistake."""
    with pytest.raises(ScenarioError, match=complaint):
        read_scenario(text, "x.yaml")


@pytest.mark.parametrize(
    ("text", "seconds"), [(5, 5), ("90s", 90), ("10m", 600), ("48h", 172800), ("30d", 2592000)]
)
def test_lengths_of_time(text: Any, seconds: float) -> None:
    """Numbers are seconds."""
    assert span_of(text) == seconds


def test_no_length_of_time() -> None:
    """A text that is none."""
    with pytest.raises(ValueError, match="90s"):
        span_of("soon")
