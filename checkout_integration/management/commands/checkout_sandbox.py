"""``manage.py checkout_sandbox``: the sandbox, set up by this project's own settings, and what is done with it."""

from __future__ import annotations

import sys
import textwrap
from argparse import RawDescriptionHelpFormatter
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import CommandError, CommandParser, DjangoHelpFormatter

from checkout_integration.conf import Project, UnknownAlias, app_settings
from checkout_integration.management.database_command import PlainCommand, webhook_path
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX


class AsWritten(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Help whose last part stays as it is written."""


class Command(PlainCommand):
    """Exit codes: 0 done, 1 refused, or a story was not as expected, 2 usage, 3 no sandbox, or no shop, responds."""

    help = (
        "Runs the sandbox with the projects and the addresses of the settings, and prints a line for each exchange. While it "
        "runs, in a second terminal: do pay ORDER, do refund ORDER, do chargeback ORDER, do orders, and more; play STORY "
        "plays a story to this site (play -- --list shows them). init prints settings and exports to paste. "
        "Options after -- are the sandbox's own; --help has them all."
    )

    requires_system_checks: Any = []  # ``init`` is for a project that has no settings yet

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: which project, and the address of the shop itself."""
        parser.add_argument(
            "--project", help="alias of the only project to serve; all that have its address by default"
        )
        parser.add_argument(
            "--shop", default="http://127.0.0.1:8000", help="address of this site, for notifications"
        )
        parser.add_argument(
            "options",
            nargs="*",
            help="do VERB ORDER, play STORY …, or init; options of the sandbox after --",
        )

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """Add what ``do``, ``play`` and the sandbox itself take to the help of the command."""
        given = {"formatter_class": AsWritten, **options}
        parser = super().create_parser(prog_name, subcommand, **given)
        parser.description = textwrap.fill(str(parser.description), 100)
        parser.epilog = _whole_help()
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until interrupted, or play scenarios."""
        try:
            from checkout_integration.sandbox import SandboxProject
            from checkout_integration.sandbox.scenarios.command import main as play
            from checkout_integration.sandbox.scenarios.verbs import main as act
            from checkout_integration.sandbox.server.command_line import FIRST_SETTINGS, main
        except ModuleNotFoundError as error:
            missing = str(error.name).partition(".")[0]
            raise CommandError(
                f"The sandbox needs {missing}: pip install 'checkout-integration[sandbox]'."
            ) from error
        first, *words = options["options"] or [""]
        if first == "init":
            self.stdout.write(FIRST_SETTINGS)
            return
        known, shop = app_settings().projects, options["shop"]
        try:
            project = app_settings().project(
                options["project"] or ("default" if "default" in known else next(iter(known)))
            )
        except UnknownAlias as error:
            raise CommandError(str(error), returncode=2) from error
        given, arguments = _from_settings(project, shop), options["options"]
        if first == "do":
            known_here = [*_address(project), "--project-id", project.project_id]
            sys.exit(act([*known_here, *words], "manage.py checkout_sandbox do"))
        if first in {"run", "play"}:
            previous = [f"--previous-secret-key={secret.reveal()}" for secret in project.secrets[1:2]]
            sys.exit(play([*given, *previous, *words]))
        others = [] if options["project"] else [each for each in known.values() if _is_beside(each, project)]
        served = [
            SandboxProject(
                project_id=each.project_id,
                secret_key=each.secrets[0].reveal(),
                webhook_url=shop.rstrip("/") + webhook_path(each),
            )
            for each in others
        ]
        sys.exit(main([*given, *arguments], served))


def _whole_help() -> str:
    """Return the verbs and all options that the words of the command take; "" where the sandbox is not installed."""
    try:
        from checkout_integration.sandbox.scenarios.command import parser_for as of_stories
        from checkout_integration.sandbox.scenarios.verbs import parser_for as of_acts
        from checkout_integration.sandbox.server.command_line import parser_for as of_itself
    except ModuleNotFoundError:
        return ""
    texts = []
    for word, parser in (("do", of_acts({})), ("play", of_stories({})), ("", of_itself({}))):
        parser.prog = f"checkout_sandbox {word}".strip()
        parser.usage, parser.epilog = f"{parser.prog} [words] [-- options]", parser.epilog if word else None
        texts.append(parser.format_help().removeprefix("usage: "))
    return "\n".join(
        [*texts, "Host, port, identifiers, keys and the webhook's address are those of the settings."]
    )


def _address(project: Project) -> list[str]:
    service = urlsplit(project.base_url)
    return ["--host", service.hostname or "127.0.0.1", "--port", str(service.port or 8090)]


def _from_settings(project: Project, shop: str) -> list[str]:
    given = {
        "--project-id": project.project_id,
        "--secret-key": project.secrets[0].reveal(),
        "--webhook-url": shop.rstrip("/") + webhook_path(project),
    }
    return [*_address(project), *(part for pair in given.items() for part in pair)]


def _is_beside(other: Project, project: Project) -> bool:
    """Return whether a sandbox at the address of ``project`` can stand for the other one too; it never gets a real key."""
    return (
        other.project_id != project.project_id
        and other.base_url == project.base_url
        and other.secrets[0].reveal().startswith(SANDBOX_SECRET_PREFIX)
    )
