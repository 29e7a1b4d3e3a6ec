"""System checks: every message names the setting and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  # Django's own name
from django.db import DatabaseError, connections
from django.utils.module_loading import import_string
from django.utils.translation import override

from checkout_integration import conf
from checkout_integration.conf import SETTING
from checkout_integration.conf.problems import bad_hooks
from checkout_integration.display import missing_sources
from checkout_integration.flows.database import keeps_old_snapshots, missing_triggers, state_database
from checkout_integration.flows.monitoring import (
    LONGEST_LEFT,
    LONGEST_UNSYNCED,
    WHO_SYNCS,
    WHO_WORKS,
    queue_state,
)
from checkout_integration.flows.sync import unsynced_for
from checkout_integration.hooks import Hooks
from checkout_integration.models import Order
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX
from checkout_integration.signals import SIGNALS, checkout_paid, checkout_reversed, payment_success

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def check_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report settings that cannot be used as they are written: E001 to E008, E011, E014, E015."""
    found = list(conf.problems(getattr(settings, SETTING, None))) or list(_foreign_hooks())
    return [Error(problem.message, hint=problem.hint, id=problem.id) for problem in found]


def _foreign_hooks() -> Iterator[conf.Problem]:
    for project in conf.app_settings().projects.values():
        if not issubclass(import_string(project.hooks), Hooks):
            place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
            yield bad_hooks(f"HOOKS of {place} is {project.hooks!r}, which is no subclass of Hooks.")


def check_default_project(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if no project is called "default", for callers that name no project: W006."""
    if (
        next(iter(conf.problems(getattr(settings, SETTING, None))), None)
        or "default" in conf.app_settings().projects
    ):
        return []
    return [
        Warning(
            f'{SETTING}["PROJECTS"] has no project "default": the address webhook/ returns 404, and create_checkout and '
            "create_token need project=….",
            hint='Name a project "default"; or give the service the addresses webhook/<alias>/, and silence this check.',
            id="checkout_integration.W006",
        )
    ]


def check_celery(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report that RUNNER is Celery, and Celery is not installed: E012."""
    raw = getattr(settings, SETTING, None)
    if not isinstance(raw, dict) or raw.get("RUNNER") != "celery" or find_spec("celery"):
        return []
    return [
        Error(
            f'RUNNER of {SETTING} is "celery", and Celery is not installed: no process would do the work.',
            hint='Install "checkout-integration[celery]", or set RUNNER to "worker".',
            id="checkout_integration.E012",
        )
    ]


def check_receivers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report receivers that could not be found and run later: E009. Warn if no receiver grants goods: W001."""
    messages: list[CheckMessage] = [
        Error(
            f"The receiver {name} of {signal.name} could not be run later: {why}.",
            hint="Connect a function at module level that accepts **kwargs, or give a text dispatch_uid of its own.",
            id="checkout_integration.E009",
        )
        for signal in SIGNALS.values()
        for name, why in sorted(signal.problems.items())
    ]
    if not (checkout_paid.has_listeners(sender=Order) or payment_success.has_listeners(sender=Order)):
        messages.append(
            Warning(
                "No receiver is connected to checkout_paid or payment_success: payments would be received but never "
                "fulfilled.",
                hint="Connect a receiver to checkout_integration.signals.checkout_paid in a module that your AppConfig.ready "
                "imports.",
                id="checkout_integration.W001",
            )
        )
    return messages


def check_undoing(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report receivers that do not name what they undo: E013. Warn if what they undo is not connected: W008."""
    paid = checkout_paid.connected(sender=Order)
    messages: list[CheckMessage] = []
    for name in sorted(checkout_reversed.connected(sender=Order)):
        undone = checkout_reversed.undoing(name, paid).names
        if len(paid) > 1 and not undone:
            messages.append(
                Error(
                    f"The receiver {name} of checkout_reversed does not say which of the {len(paid)} receivers of "
                    "checkout_paid it undoes: it would revoke goods that were never granted.",
                    hint=f"Connect it with undoes=…, one or several of: {', '.join(sorted(paid))}.",
                    id="checkout_integration.E013",
                )
            )
        messages += [
            Warning(
                f"The receiver {name} of checkout_reversed undoes {missing!r}, which is not connected to checkout_paid.",
                hint=f"Connected are: {', '.join(sorted(paid)) or 'none'}. A receiver that was renamed keeps its old name "
                "with dispatch_uid.",
                id="checkout_integration.W008",
            )
            for missing in sorted(undone - set(paid))
        ]
    return messages


def check_database(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of SQLite without IMMEDIATE transactions: W002. Warn of MySQL or MariaDB with snapshots: W007."""
    alias = state_database()
    connection = connections[alias]
    if keeps_old_snapshots(connection):
        return [
            Warning(
                f"Transactions of the database {alias!r} read rows as they were when they began: two orders, "
                "recorded inside transactions of your own (ATOMIC_REQUESTS), can both be taken as paying the same checkout.",
                hint=f'Leave isolation_level out of DATABASES[{alias!r}]["OPTIONS"], or set it to "read committed".',
                id="checkout_integration.W007",
            )
        ]
    options = connection.settings_dict.get("OPTIONS", {})
    if connection.vendor != "sqlite" or options.get("transaction_mode") == "IMMEDIATE":
        return []
    return [
        Warning(
            f"The SQLite database {alias!r} does not use transaction_mode IMMEDIATE: concurrent notifications fail with "
            '"database is locked".',
            hint=f'Set DATABASES[{alias!r}]["OPTIONS"] = {{"transaction_mode": "IMMEDIATE", '
            '"init_command": "PRAGMA journal_mode=WAL;"}.',
            id="checkout_integration.W002",
        )
    ]


def check_connections(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """With ``check --deploy``: warn if each request opens a database connection of its own: W009."""
    alias = state_database()
    options = connections[alias].settings_dict
    pooled = bool(options.get("OPTIONS", {}).get("pool"))
    if connections[alias].vendor == "sqlite" or pooled or options.get("CONN_MAX_AGE") != 0:
        return []
    return [
        Warning(
            f"CONN_MAX_AGE of DATABASES[{alias!r}] is 0: each notification opens a database connection of its own, which "
            "takes longer than to accept it.",
            hint=f'Set DATABASES[{alias!r}]["CONN_MAX_AGE"] = 60 and ["CONN_HEALTH_CHECKS"] = True; or silence this check '
            "where a pooler beside the web processes keeps connections.",
            id="checkout_integration.W009",
        )
    ]


def check_backlog(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """With ``check --database``: warn if no process applies notifications and runs receivers: W010."""
    if state_database() not in (databases or ()):
        return []
    try:
        seconds = queue_state().oldest_seconds
    except DatabaseError:  # the tables are not made yet, or the database is away: not for this check to say
        return []
    if seconds <= LONGEST_LEFT:
        return []
    runner = conf.app_settings().runner
    return [
        Warning(
            f"Something has been due for {seconds / 60:.0f} minutes, and no process does it: payments are not applied, or "
            "receivers do not run.",
            hint=f"In {SETTING}, {_in_english(WHO_WORKS[runner])}",
            id="checkout_integration.W010",
        )
    ]


def check_sync(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """With ``check --database``: warn if no process reads the transaction list: W011."""
    if state_database() not in (databases or ()):
        return []
    try:
        unsynced = unsynced_for()
    except DatabaseError:  # as above
        return []
    if unsynced <= LONGEST_UNSYNCED:
        return []
    runner = conf.app_settings().runner
    return [
        Warning(
            f"The transaction list was not read to its end for {unsynced.total_seconds() / 3600:.0f} hours: a payment whose "
            "notification was lost is not found.",
            hint=f"In {SETTING}, {_in_english(WHO_SYNCS[runner])} The admin's sync runs show passes that failed.",
            id="checkout_integration.W011",
        )
    ]


def _in_english(text: StrOrPromise) -> str:
    """Return a text of the admin as checks have it: in one language with the rest of the message."""
    with override(None):
        return str(text)


def check_history(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """With ``check --database``: warn if the database would let the history of orders be changed: W015."""
    if state_database() not in (databases or ()):
        return []
    try:
        missing = missing_triggers()
    except DatabaseError:  # as above
        return []
    return [
        Warning(
            f"The database does not keep the history of orders from being changed by SQL: the trigger {name} is missing.",
            hint="With an account that may create triggers: manage.py migrate checkout_integration 0001, then manage.py "
            "migrate checkout_integration.",
            id="checkout_integration.W015",
        )
        for name in missing
    ]


def check_content_policy(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if the content security policy of Django or django-csp would not let the form be shown: W014."""
    if next(iter(conf.problems(getattr(settings, SETTING, None))), None):
        return []
    return [
        Warning(
            f"{name} does not allow the payment form of the project {project.alias!r}: {_listed(missing)}.",
            hint=f"Write {name} as checkout_integration.display.merge_csp({{…}}, order_form_url=…, client_script_url=…, "
            "checkout_url=…); or silence this check where you only redirect to the form.",
            id="checkout_integration.W014",
        )
        for name, policy in conf.sent_policies()
        for project in conf.app_settings().projects.values()
        if project.order_form_url
        and (
            missing := missing_sources(
                policy,
                order_form_url=project.order_form_url,
                client_script_url=project.client_script_url,
                checkout_url=project.checkout_url,
            )
        )
    ]


def _listed(missing: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{directive} needs {' '.join(sources)}" for directive, sources in missing.items())


def check_deployment(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """With ``check --deploy``: report secrets that cannot be used (E005, E015) or are the sandbox's (E010).

    Warn of settings for development: W003 to W005.
    """
    if next(iter(conf.problems(getattr(settings, SETTING, None))), None):
        return []
    app = conf.app_settings()
    found = conf.health_token_problems(app)
    messages: list[CheckMessage] = [Error(each.message, hint=each.hint, id=each.id) for each in found]
    for project in app.projects.values():
        place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
        messages.extend(_check_secrets(project, place))
        if project.accept_test_payments:
            messages.append(
                Warning(
                    f"ACCEPT_TEST_PAYMENTS of {place} is on: its checkouts take test payments, and no real ones.",
                    hint="Set ACCEPT_TEST_PAYMENTS to False, or to DEBUG.",
                    id="checkout_integration.W003",
                )
            )
        if project.allow_http_loopback:
            messages.append(
                Warning(
                    f"ALLOW_HTTP_LOOPBACK of {place} is on.",
                    hint="Set ALLOW_HTTP_LOOPBACK to False, or to DEBUG.",
                    id="checkout_integration.W004",
                )
            )
    if app.runner == "request":
        messages.append(
            Warning(
                f'RUNNER of {SETTING} is "request": web processes apply notifications and run receivers, and what '
                "failed is tried again only with the next notification.",
                hint='Set RUNNER to "celery" or "worker".',
                id="checkout_integration.W005",
            )
        )
    return messages


def _check_secrets(project: conf.Project, place: str) -> Iterator[CheckMessage]:
    found = list(conf.secret_problems(project))
    yield from (Error(problem.message, hint=problem.hint, id=problem.id) for problem in found)
    if not found and any(secret.reveal().startswith(SANDBOX_SECRET_PREFIX) for secret in project.secrets):
        yield Error(
            f"SECRET_KEY of {place} is a secret of the sandbox, which anyone can know.",
            hint="Set SECRET_KEY to the project's own Secret key.",
            id="checkout_integration.E010",
        )


def register_checks() -> None:
    """Register all checks of the app."""
    register(check_settings)
    register(check_default_project)
    register(check_celery)
    register(check_receivers)
    register(check_undoing)
    register(check_database)
    register(check_content_policy, Tags.security)
    register(check_connections, deploy=True)
    register(check_backlog, Tags.database)
    register(check_sync, Tags.database)
    register(check_history, Tags.database)
    register(check_deployment, Tags.security, deploy=True)
