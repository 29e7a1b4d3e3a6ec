"""Commands whose database does not respond: a sentence and an exit code, and never a traceback."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.core.management import CommandError, call_command, get_commands

from checkout_integration.management.database_command import DATABASE_AWAY, DatabaseCommand

COMMANDS = sorted(name for name, app in get_commands().items() if app == "checkout_integration")


@pytest.mark.django_db(transaction=True)
def test_database_is_away(database_away: None) -> None:
    """Cron mails one line, and no exception leads to another one. The health has a finding for it."""
    with pytest.raises(CommandError, match=r"^The database does not respond \(\w+\)") as failed:
        call_command("checkout_work", "--once")
    assert failed.value.returncode == DATABASE_AWAY
    assert failed.value.__cause__ is failed.value.__context__ is None


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "checkout_sandbox"])
def test_every_command_with_a_database_says_so(name: str) -> None:
    """The sandbox has a file of its own."""
    module = import_module(f"checkout_integration.management.commands.{name}")
    assert issubclass(module.Command, DatabaseCommand)
