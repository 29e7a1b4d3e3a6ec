"""What the commands share: a sentence where the database does not respond, and steps as their result."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from checkout_integration import dispatch
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import (
    TRANSIENT_DATABASE_ERRORS,
    Unavailable,
    acting_from,
    close_stranded,
)
from checkout_integration.flows.monitoring import Finding
from checkout_integration.management.options import filled, system_user
from checkout_integration.management.progress import ProgressLine
from checkout_integration.models import StaffAct
from checkout_integration.models.actor import Actor, SystemUser
from checkout_integration.policy.severity import Severity

DATABASE_AWAY: Final = 4
"""The exit code of a command whose database did not respond."""


Step: TypeAlias = dict[str, Any]
Counted = TypeVar("Counted")


class PlainCommand(BaseCommand):
    """A command whose output has no colours where the variable NO_COLOR is set, as with Django's ``--no-color``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        no_color = not options.get("force_color") and bool(os.environ.get("NO_COLOR"))
        super().__init__(*args, **{**options, "no_color": options.get("no_color") or no_color})


class DatabaseCommand(PlainCommand):
    """A command without a traceback where the database does not respond: cron would mail the texts of its exceptions."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command, on a connection that works."""
        close_stranded()
        try:
            return super().execute(*args, **options)
        except (Unavailable, *TRANSIENT_DATABASE_ERRORS) as error:
            name = type(error).__name__
        raise CommandError(
            f"The database does not respond ({name}). What is committed stays, and what is due stays due: run it again.",
            returncode=DATABASE_AWAY,
        )

    def print_steps(self, steps: Sequence[Step], *, as_json: bool, **more: object) -> bool:
        """Print what was done, a line for each step or one JSON document; return whether all steps are ok."""
        ok = all(step["ok"] for step in steps)
        if as_json:
            self.stdout.write(json.dumps({"ok": ok, **more, "steps": steps}))
        else:
            for step in steps:
                self.stdout.write(f"{step['name']}: {step['detail']}")
        return ok

    def print_step(self, step: Step, *, as_json: bool) -> None:
        """Print the only step of a command: what was done, or one JSON document."""
        if as_json:
            self.print_steps([step], as_json=True)
        else:
            self.stdout.write(step["detail"])

    def counted(self, rows: Sequence[Counted], unit: str) -> Iterator[Counted]:
        """Yield the rows one by one; on a terminal, a line on stderr shows how many are done."""
        line = ProgressLine(self.stderr, unit)
        for done, row in enumerate(rows):
            line.show(unit, done, len(rows))
            yield row
        line.end()

    def print_findings(
        self, findings: Sequence[Finding], fail_on: Severity, began: float | None = None
    ) -> bool:
        """Print findings, or with the time at which the look began one JSON document; return whether none of them fails."""
        if began is not None:
            steps = [
                step_of(
                    finding.name,
                    began,
                    finding.sentence,
                    ok=not finding.severity.fails(fail_on),
                    link=finding.link,
                    project=finding.project,
                    severity=finding.severity.value,
                    action=finding.action,
                    figures=dict(finding.figures),
                )
                for finding in findings
            ]
            worst = max((each.severity for each in findings), key=lambda each: each.rank)
            return self.print_steps(steps, as_json=True, severity=worst.value)
        for finding in sorted(findings, key=lambda each: -each.severity.rank):
            place = f" ({finding.project})" if finding.project else ""
            link = f" {finding.link}" if finding.severity.is_urgent and finding.link else ""
            self.stdout.write(f"{finding.severity}: {finding.name}{place}: {finding.sentence}{link}")
        return not any(each.severity.fails(fail_on) for each in findings)


class StaffCommand(DatabaseCommand):
    """A command by which somebody decides. Its history has the account of ``--as``, else the system's user: never nobody."""

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """Add the option to those of the command."""
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.add_argument(
            "--as",
            dest="acting",
            type=filled,
            metavar="USERNAME",
            help="the account that acts, for the history; the system's user when not given",
        )
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; what it does is recorded as done by a command."""
        with acting_from(StaffAct.Origin.COMMAND):
            return super().execute(*args, **options)

    def end_with(self, steps: Sequence[Step], unit: str, done: str, options: dict[str, Any]) -> None:
        """Hand over to the receivers, print the steps, and of how many it was done; exit with 1 where it was not for all."""
        if not options["dry_run"]:
            dispatch.dispatch_due()
        ok = self.print_steps(steps, as_json=options["json"])
        if not options["json"]:
            count, verb = sum(step["ok"] for step in steps), "would be" if options["dry_run"] else "were"
            self.stdout.write(f"{count} of {len(steps)} {unit} {verb} {done}.")
        if not ok:
            raise SystemExit(1)

    def acting(self, options: dict[str, Any]) -> Actor:
        """Return who acts. Raises ``CommandError`` where there is no such account."""
        name = options["acting"]
        if name is None:
            return SystemUser(system_user())
        accounts = get_user_model()
        account: AbstractBaseUser | None = accounts._default_manager.filter(
            **{accounts.USERNAME_FIELD: name}
        ).first()
        if account is None:
            raise CommandError(f"There is no account {name!r}.", returncode=2)
        return account


def webhook_path(project: Project) -> str:
    """Return the path of a project's webhook."""
    if project.alias == "default":
        return reverse("checkout_integration:webhook")
    return reverse("checkout_integration:webhook-project", args=[project.alias])


def step_of(name: str, began: float, detail: str, *, ok: bool = True, **more: object) -> Step:
    """Return a step as `--json` prints it; ``began`` is the monotonic time at its beginning."""
    return {"name": name, "ok": ok, "seconds": round(time.monotonic() - began, 3), "detail": detail, **more}


def require_project(alias: str | None) -> None:
    """Raise ``CommandError`` where the settings have no such project; None means all of them."""
    if alias is not None and alias not in app_settings().projects:
        raise CommandError(f"There is no project {alias!r} in the settings.", returncode=2)
