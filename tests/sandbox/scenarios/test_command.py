"""Scenarios: each that is shipped ends as expected at the Django receiver, over real sockets; files and exit codes."""

from __future__ import annotations

import json
import signal
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
from checkout_integration.flows.database import installation
from checkout_integration.hooks import Hooks
from checkout_integration.models import Order, OutboxMessage
from checkout_integration.protocol.user import User
from checkout_integration.sandbox import Sandbox
from checkout_integration.sandbox.scenarios.command import (
    AS_EXPECTED,
    INTERRUPTED,
    NOT_AS_EXPECTED,
    UNREACHABLE,
    WRONG_USAGE,
    main,
)
from checkout_integration.sandbox.scenarios.scenario_file import shipped_scenarios
from checkout_integration.testing.service import running_sandbox
from tests.support.sandbox.receiver import Receiver
from tests.support.sandbox.service import PROJECT, SECRET, running

SCENARIOS = shipped_scenarios()
PREVIOUS = "sandbox_secret_from_before"
# Whatever is started in the background by a script is deaf to interrupts.
AS_IN_A_TERMINAL = (
    "import signal, sys\n"
    "from checkout_integration.sandbox.scenarios.command import main\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
SMALLEST = "title: A payment\nsteps:\n  - create: first\n  - pay: first\n"


class KnowsAda(Hooks):
    """The shop knows one customer."""

    def validate_user(self, user: User) -> bool:
        """Approve her alone."""
        return user.external_id == "ada"


def order_status(request: HttpRequest, order_id: str) -> JsonResponse:
    """Return the shop's status of an order to a scenario."""
    flows.run_due()
    order = Order.objects.get(order_id=order_id)
    granted = OutboxMessage.objects.filter(order=order, signal="checkout_paid").exists()
    return JsonResponse({"status": order.status, "goods": "granted" if granted else "none"})


@csrf_exempt
def sync(request: HttpRequest) -> HttpResponse:
    """Read the list for a scenario."""
    return JsonResponse({"state": flows.sync.sync_transactions().state})


urlpatterns = [
    path("checkout/", include("checkout_integration.urls")),
    path("shop/orders/<order_id>/", order_status),
    path("shop/sync/", sync),
]


@pytest.fixture
def shop(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set up a shop that returns its orders, knows Ada, and accepts its previous secret."""
    monkeypatch.setattr(installation, "known_projects", set())
    settings.ROOT_URLCONF = __name__
    own = {**settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"], "PREVIOUS_SECRET_KEYS": [PREVIOUS]}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {"default": own},
        "HOOKS": f"{__name__}.KnowsAda",
    }
    return settings


@pytest.fixture(params=["field", pytest.param("spec", marks=pytest.mark.slow)])
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
    """Give a closed loopback address."""
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


def skip_other_profile(sandbox: Sandbox, name: str) -> None:
    """Skip a story that needs a sandbox of the other profile."""
    (profile,) = (each.profile for each in SCENARIOS if each.name == name)
    if profile not in {"", sandbox.profile.name}:
        pytest.skip(f"a story of the profile {profile}")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_shipped_scenario_ends_as_expected(
    scenario: Any, checkout_sandbox: Sandbox, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the real receiver; nothing is left out, no secret is printed, and the sandbox is left as it was."""
    skip_other_profile(checkout_sandbox, scenario.name)
    code = play(checkout_sandbox, live_server.url, scenario.name)
    log = capsys.readouterr().out
    assert code == AS_EXPECTED, log
    assert "left out" not in log
    assert PREVIOUS not in log and checkout_sandbox.projects.all()[0].secret_key not in log
    assert checkout_sandbox.projects.all()[0].mode == "default"
    assert checkout_sandbox.faults.document()["rules"] == []
    assert abs(checkout_sandbox.clock.ahead()) < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["success_with_status_created", "rotated_secret"])
def test_a_sabotaged_receiver_is_found_out(
    name: str, checkout_sandbox: Sandbox, shop: Any, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A receiver that verifies with another secret fails the story, and the log names the step."""
    skip_other_profile(checkout_sandbox, name)
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
    """Steps with the observed values and the shop's responses; the log goes to stderr."""
    assert play(checkout_sandbox, live_server.url, "--json", quiet) == AS_EXPECTED
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    (scenario,) = result["scenarios"]
    assert (result["ok"], scenario["name"], scenario["title"]) == (True, "small", "A payment")
    assert [(step["verb"], step["ok"], step["answers"]) for step in scenario["steps"]] == [
        ("create", True, []),
        ("pay", True, ["payment.success answered 200"]),
    ]
    assert "A payment" in printed.err


@pytest.mark.django_db(transaction=True)
def test_a_sandbox_is_started_where_none_runs(shop: Any, live_server: Any, quiet: str, capsys: Any) -> None:
    """In memory, for the duration of the scenario; a scenario without a required option is skipped."""
    secret = shop.CHECKOUT_INTEGRATION["PROJECTS"]["default"]["SECRET_KEY"]
    webhook = f"{live_server.url}/checkout/webhook/"
    code = main(["--port", "0", "--secret-key", secret, "--webhook-url", webhook, quiet, "rotated_secret"])
    assert code == AS_EXPECTED
    printed = capsys.readouterr().out
    assert "payment.success answered 200" in printed
    assert "left out: needs --previous-secret-key" in printed
    assert "1 played, 1 left out, all as expected.\n" in printed


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_nothing_played_is_not_as_expected(
    more: list[str], shop: Any, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 where every scenario was skipped, with the missing options; in the JSON it is not ok."""
    given = ["--port", "0", "--webhook-url", f"{live_server.url}/checkout/webhook/", *more]
    assert main([*given, "known_user", "rotated_secret"]) == WRONG_USAGE
    printed = capsys.readouterr()
    log = printed.err if more else printed.out
    assert "0 played, 2 left out: give --known-user, --previous-secret-key.\n" in log
    if more:
        result = json.loads(printed.out)
        assert (result["ok"], result["played"], result["left_out"]) == (False, 0, 2)


@pytest.mark.django_db(transaction=True)
def test_a_story_of_another_profile_is_left_out(
    checkout_sandbox: Sandbox, live_server: Any, quiet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sandbox that runs behaves otherwise: nothing else about the shop is wrong."""
    if checkout_sandbox.profile.name == "spec":
        pytest.skip("every shipped story of one profile is of this one")
    assert play(checkout_sandbox, live_server.url, "refusal_cancels", quiet) == AS_EXPECTED
    printed = capsys.readouterr().out
    assert "left out: needs a sandbox of the profile spec" in printed
    assert "1 played, 1 left out, all as expected.\n" in printed
    assert play(checkout_sandbox, live_server.url, "refusal_cancels") == WRONG_USAGE


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["cancel_after_success", "unknown_user_is_refused"])
def test_a_story_has_a_mode_of_its_own(
    name: str, checkout_sandbox: Sandbox, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default one unless it names another; the project has its own again afterwards."""
    project = checkout_sandbox.projects.get("")
    checkout_sandbox.projects.update(project.project_id, mode="pre_approval")
    assert play(checkout_sandbox, live_server.url, name) == AS_EXPECTED, capsys.readouterr().out
    assert checkout_sandbox.projects.get("").mode == "pre_approval"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("fault", "words"),
    [("faults_off", "was answered 403"), ("fault: {point: validation, kind: drop}", "was not answered")],
)
def test_a_refused_payment_names_the_answer(
    fault: str, words: str, checkout_sandbox: Sandbox, live_server: Any, tmp_path: Path, capsys: Any
) -> None:
    """The shop's, to user.validate."""
    story = tmp_path / "stranger.yaml"
    story.write_text(
        f"title: A stranger\nproject: {{mode: pre_approval}}\nsteps:\n  - {fault}\n"
        "  - create: {order: first, with: {user: {external_id: nobody}}}\n  - pay: {order: first, outcome: paid}\n"
    )
    assert play(checkout_sandbox, live_server.url, str(story)) == NOT_AS_EXPECTED
    assert f"the outcome is refused, not paid: user.validate {words}\n" in capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_a_setting_that_the_project_refuses(
    checkout_sandbox: Sandbox, live_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is wrong usage, and the story is named."""
    story = tmp_path / "often.yaml"
    story.write_text("title: Often\nproject: {mode: often}\nsteps: []\n")
    assert play(checkout_sandbox, live_server.url, str(story)) == WRONG_USAGE
    errors = capsys.readouterr().err
    assert errors.startswith("often: ") and "'often' is not a valid WebhookMode" in errors


def test_an_interrupted_story_is_put_away(tmp_path: Path) -> None:
    """Exit code 130 without a word about the program; project, clock and faults are as before."""
    story = tmp_path / "long.yaml"
    story.write_text(
        "title: Long\nproject: {retry_limit: 1}\n"
        "steps: [advance: 7d, fault: drop, sync, create: first, pay: first]\n"
    )
    with running() as service, Receiver() as shop:
        before, noon = service.sandbox.projects.all(), service.sandbox.clock.now()
        words = ["--port", service.url.rpartition(":")[2], "--project-id", PROJECT, "--secret-key", SECRET]
        command = [sys.executable, "-c", AS_IN_A_TERMINAL, *words, "--sync-url", shop.url, str(story)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            shop.meanwhile = lambda: process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (
            INTERRUPTED,
            "Interrupted: the story was not played to its end.\n",
        )
        assert (service.sandbox.projects.all(), service.sandbox.clock.now()) == (before, noon)
        assert service.sandbox.faults.document()["rules"] == []


def test_a_shop_that_is_not_there(nowhere: str, quiet: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, with advice."""
    assert main(["--port", "0", "--webhook-url", nowhere, quiet]) == UNREACHABLE
    assert "start it first" in capsys.readouterr().err


@pytest.mark.slow
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


@pytest.mark.django_db(transaction=True)
def test_a_new_try_is_another_order(
    checkout_sandbox: Sandbox, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later steps name it as the story does."""
    skip_other_profile(checkout_sandbox, "decline_and_try_again")
    assert play(checkout_sandbox, live_server.url, "decline_and_try_again") == AS_EXPECTED
    assert "second is order " in capsys.readouterr().out
