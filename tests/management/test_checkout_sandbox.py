"""``checkout_sandbox``: which projects of the settings it serves."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import ManagementUtility, call_command

from checkout_integration import flows
from checkout_integration.protocol.vocabulary import TestingCase
from checkout_integration.sandbox import SandboxProject
from checkout_integration.sandbox.scenarios import command, verbs
from checkout_integration.sandbox.server import command_line
from tests.support.documents import ROOT

KEY = "sandbox_secret_of_"


@pytest.fixture
def served(settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Note what the sandbox's own command is given; with a shop of four projects."""
    noted: dict[str, list[Any]] = {}

    def main(arguments: Sequence[str], others: Sequence[SandboxProject] = ()) -> int:
        noted["arguments"], noted["others"] = [*arguments], [*others]
        return 0

    monkeypatch.setattr(command_line, "main", main)
    real, elsewhere = "the-secret-of-a-real-project", "https://other.invalid"
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {
            "default": {"PROJECT_ID": "my-shop", "SECRET_KEY": f"{KEY}my_shop"},
            "eu": {"PROJECT_ID": "my-shop-eu", "SECRET_KEY": lambda: f"{KEY}eu"},
            "real": {"PROJECT_ID": "my-shop-us", "SECRET_KEY": real},
            "far": {"PROJECT_ID": "my-shop-far", "SECRET_KEY": f"{KEY}far", "BASE_URL": elsewhere},
        },
    }
    return noted


def run(*words: str) -> None:
    """Run the command to its end."""
    with pytest.raises(SystemExit) as ended:
        call_command("checkout_sandbox", *words)
    assert ended.value.code == 0


def test_all_projects_of_its_address_are_served(served: dict[str, list[Any]]) -> None:
    """Each with the address of its own webhook; never one with a real key, nor one of another service."""
    run("--shop", "http://127.0.0.1:8001")
    assert "my-shop" in served["arguments"]
    assert [(each.project_id, each.secret_key, each.webhook_url) for each in served["others"]] == [
        ("my-shop-eu", f"{KEY}eu", "http://127.0.0.1:8001/checkout/webhook/eu/")
    ]


def test_options_are_for_each_project(served: dict[str, list[Any]]) -> None:
    """Live payments of the first one alone would leave those of the others in review."""
    run("--", "--live", "--vat-payer", "seller")
    chosen = command_line.parser_for({}).parse_args(served["arguments"])
    projects = command_line.projects_of(chosen, served["others"])
    assert [(each.project_id, each.live, each.vat_payer) for each in projects] == [
        ("my-shop", True, "seller"),
        ("my-shop-eu", True, "seller"),
    ]


def test_one_project_may_be_chosen(served: dict[str, list[Any]]) -> None:
    """Then it is the only one."""
    run("--project", "eu")
    assert "my-shop-eu" in served["arguments"] and served["others"] == []


def test_a_shop_without_a_default_has_a_first_project(served: dict[str, list[Any]], settings: Any) -> None:
    """Its sandbox starts without an option."""
    (_, *others) = settings.CHECKOUT_INTEGRATION["PROJECTS"].items()
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": dict(others)}
    run()
    assert "my-shop-eu" in served["arguments"]


@pytest.mark.django_db
def test_one_act_at_the_sandbox_of_the_settings(
    checkout_sandbox: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its address and its project are those of the settings."""
    checkout = flows.create_checkout(amount=Decimal("9.99"), currency="USD")
    run("do", "pay", "last")
    assert capsys.readouterr().out.startswith(f"paid: {checkout.order_id} processed 9.99 USD")


def test_its_help_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Every verb, every case, and every option that may come after ``--``, in one text."""
    with pytest.raises(SystemExit):
        ManagementUtility(["manage.py", "checkout_sandbox", "--help"]).execute()
    printed = capsys.readouterr().out
    words = {
        *verbs.ACTS,
        *verbs.WITHOUT_ORDER,
        *TestingCase,
        "init",
        "play",
        "--list",
        "--json",
        "--status-url",
        "--quiet",
    }
    for parser in (verbs.parser_for({}), command.parser_for({}), command_line.parser_for({})):
        words |= {name for action in parser._actions for name in action.option_strings}
    assert sorted(word for word in words if word not in printed) == []
    assert "-- --help" not in printed


def test_a_project_without_settings_gets_some_to_paste(settings: Any) -> None:
    """No check stops it."""
    del settings.CHECKOUT_INTEGRATION
    printed = StringIO()
    call_command("checkout_sandbox", "init", stdout=printed)
    assert "CHECKOUT_INTEGRATION = {" in printed.getvalue()


def test_the_usage_names_what_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """And not the module's own command."""
    with pytest.raises(SystemExit):
        call_command("checkout_sandbox", "do", "sing", "last")
    assert capsys.readouterr().err.startswith("usage: manage.py checkout_sandbox do ")


def test_orders_may_be_stored(served: dict[str, list[Any]]) -> None:
    """As docs/sandbox.md says."""
    words = "-- --state sandbox.sqlite3"
    assert f"manage.py checkout_sandbox {words}" in (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
    run(*words.split())
    assert served["arguments"][-2:] == ["--state", "sandbox.sqlite3"]
