"""System checks: every message names the setting and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from django.apps import AppConfig
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register  # noqa: A004  # Django's own name
from django.db import DatabaseError, connections, router
from django.urls import NoReverseMatch, reverse
from django.utils.module_loading import import_string
from django.utils.translation import override

from checkout_integration import conf
from checkout_integration.conf import SETTING
from checkout_integration.conf.problems import bad_hooks
from checkout_integration.flows.database import keeps_old_snapshots, missing_triggers, state_database
from checkout_integration.flows.monitoring import (
    LONGEST_LEFT,
    LONGEST_UNSYNCED,
    WHO_SYNCS,
    WHO_WORKS,
    contradicting,
    queue_state,
    waiting_of_removed,
)
from checkout_integration.flows.outbox import GAME_SERVER, connected_here, read_receivers, rows_of
from checkout_integration.flows.sync import unsynced_for
from checkout_integration.hooks import Hooks
from checkout_integration.models import Order
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX
from checkout_integration.signals import (
    SIGNALS,
    checkout_abandoned,
    checkout_paid,
    checkout_reversed,
    payment_success,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


Check: TypeAlias = Callable[..., list[CheckMessage]]


def registered(
    *tags: str, deploy: bool = False, uses_settings: bool = False
) -> Callable[[Callable[..., Iterator[CheckMessage]]], Check]:
    """Register a check by the function that yields its messages.

    One that uses settings runs where they can be used; `check_settings` says where they cannot. One of the database uses them
    too, runs with ``check --database`` alone, and says nothing where the tables are not made yet, or the database is away:
    that is not for it to say.
    """

    def register_check(messages: Callable[..., Iterator[CheckMessage]]) -> Check:
        @wraps(messages)
        def check(
            app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
        ) -> list[CheckMessage]:
            if Tags.database not in tags:
                return [] if uses_settings and not _are_settings_usable() else list(messages())
            try:
                is_due = state_database() in (databases or ()) and _are_settings_usable()
                return list(messages()) if is_due else []
            except DatabaseError:
                return []

        return register(check, *tags, deploy=deploy)

    return register_check


def _are_settings_usable() -> bool:
    return not any(conf.problems(getattr(settings, SETTING, None)))


@registered()
def check_settings(**kwargs: Any) -> Iterator[CheckMessage]:
    """Report settings that cannot be used as they are written: E001 to E008, E011, E014, E015, E021, E022."""
    yield from _errors(list(conf.problems(getattr(settings, SETTING, None))) or _foreign_hooks())


def _errors(problems: Iterable[conf.Problem]) -> Iterator[CheckMessage]:
    return (Error(problem.message, hint=problem.hint, id=problem.id) for problem in problems)


def _foreign_hooks() -> Iterator[conf.Problem]:
    for project in conf.app_settings().projects.values():
        if not issubclass(import_string(project.hooks), Hooks):
            place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
            yield bad_hooks(f"HOOKS of {place} is {project.hooks!r}, which is no subclass of Hooks.")


@registered(uses_settings=True)
def check_default_project(**kwargs: Any) -> Iterator[CheckMessage]:
    """Warn if no project is called "default", for callers that name no project: W006."""
    if "default" not in conf.app_settings().projects:
        yield Warning(
            f'{SETTING}["PROJECTS"] has no project "default": the address webhook/ returns 404, and create_checkout and '
            "create_token need project=….",
            hint='Name a project "default"; or give the service the addresses webhook/<alias>/, and silence this check.',
            id="checkout_integration.W006",
        )


@registered()
def check_celery(**kwargs: Any) -> Iterator[CheckMessage]:
    """If RUNNER is Celery: report that it is not installed, E012; warn of a broker that the shop has not named, W018."""
    raw = getattr(settings, SETTING, None)
    if not isinstance(raw, Mapping) or raw.get("RUNNER") != "celery":
        return
    if not find_spec("celery"):
        yield Error(
            f'RUNNER of {SETTING} is "celery", and Celery is not installed: no process would do the work.',
            hint='Install "checkout-integration[celery]", or set RUNNER to "worker".',
            id="checkout_integration.E012",
        )
        return
    from checkout_integration.schedule import unread_broker  # Celery is an extra

    if why := unread_broker():
        yield Warning(
            f'RUNNER of {SETTING} is "celery", and {why}, where no worker of yours may look.',
            hint="Import the Celery app in the __init__ of your project's package, and set broker_url (CELERY_BROKER_URL).",
            id="checkout_integration.W018",
        )


@registered()
def check_receivers(**kwargs: Any) -> Iterator[CheckMessage]:
    """Report receivers that could not be found and run later: E009. Warn if no receiver grants goods: W001."""
    for signal in SIGNALS.values():
        for name, why in sorted(signal.problems.items()):
            yield Error(
                f"The receiver {name} of {signal.name} could not be run later: {why}.",
                hint="Connect a function at module level that accepts **kwargs, or give a text dispatch_uid of its own.",
                id="checkout_integration.E009",
            )
    pulls = isinstance(raw := getattr(settings, SETTING, None), Mapping) and raw.get("GOODS") == "pull"
    if not (
        pulls or checkout_paid.has_listeners(sender=Order) or payment_success.has_listeners(sender=Order)
    ):
        yield Warning(
            "No receiver is connected to checkout_paid or payment_success: payments would be received but never "
            "fulfilled.",
            hint="Connect a receiver to checkout_integration.signals.checkout_paid in a module that your AppConfig.ready "
            "imports.",
            id="checkout_integration.W001",
        )


@registered(uses_settings=True)
def check_abandoned(**kwargs: Any) -> Iterator[CheckMessage]:
    """Warn if ABANDONED_AFTER is set and nothing receives checkout_abandoned, or the other way round: W025."""
    is_set = any(each.abandoned_after for each in conf.app_settings().projects.values())
    is_received = checkout_abandoned.has_listeners(Order)
    if is_set and not is_received:
        yield Warning(
            f"ABANDONED_AFTER of {SETTING} is set, and no receiver is connected to checkout_abandoned: nobody is reminded.",
            hint="Connect a receiver of checkout_integration.signals.checkout_abandoned, or leave ABANDONED_AFTER out.",
            id="checkout_integration.W025",
        )
    elif is_received and not is_set:
        yield Warning(
            f"A receiver is connected to checkout_abandoned, which is never sent: {SETTING} has no ABANDONED_AFTER.",
            hint="Set ABANDONED_AFTER to a number of hours, such as 24, or remove the receiver.",
            id="checkout_integration.W025",
        )


@registered(uses_settings=True)
def check_alerts(**kwargs: Any) -> Iterator[CheckMessage]:
    """Warn if ALERTS mails admins, and there are none: W026."""
    if conf.app_settings().alerts == conf.MAIL_ADMINS and not settings.ADMINS:
        yield Warning(
            f'ALERTS of {SETTING} is "{conf.MAIL_ADMINS}", and ADMINS is empty: no alert reaches anybody.',
            hint="Set ADMINS of Django, or ALERTS to a list of mail addresses.",
            id="checkout_integration.W026",
        )


@registered()
def check_undoing(**kwargs: Any) -> Iterator[CheckMessage]:
    """Report receivers that do not name what they undo: E013. Warn if what they undo is not connected: W008."""
    paid = checkout_paid.connected(sender=Order)
    for name in sorted(checkout_reversed.connected(sender=Order)):
        undone = checkout_reversed.undoing(name, paid).names
        if len(paid) > 1 and not undone:
            yield Error(
                f"The receiver {name} of checkout_reversed does not say which of the {len(paid)} receivers of "
                "checkout_paid it undoes: it would revoke goods that were never granted.",
                hint=f"Connect it with undoes=…, one or several of: {', '.join(sorted(paid))}.",
                id="checkout_integration.E013",
            )
        for missing in sorted(undone - {*paid, GAME_SERVER}):
            yield Warning(
                f"The receiver {name} of checkout_reversed undoes {missing!r}, which is not connected to checkout_paid.",
                hint=f"Connected are: {', '.join(sorted(paid)) or 'none'}. A receiver that was renamed keeps its old name "
                "with dispatch_uid.",
                id="checkout_integration.W008",
            )


@registered(Tags.database)
def check_remembered(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn of receivers that may have been renamed: W020. Report two that are one: E020."""
    remembered, connected = read_receivers().rows, connected_here()
    for signal in (checkout_paid.name, checkout_reversed.name):
        here = [each for each in connected if each.signal == signal]
        rows = [row for row in remembered if row.signal == signal]
        found = {row.pk for each in here for row in rows_of(rows, signal, each.names)}
        missing = sorted(row.name for row in rows if row.pk not in found and row.retired_at is None)
        new = sorted(each.name for each in here if not rows_of(rows, signal, each.names))
        if missing and new:
            yield Warning(
                f"Receivers of {signal} are not connected any more: {', '.join(missing)}. Others are new: "
                f"{', '.join(new)}. If one was renamed, an event runs both while processes of both releases work.",
                hint="Connect a renamed receiver with formerly=<its old name>. One that was removed: once no process has "
                "it, run manage.py checkout_replay --receiver <name> --retire.",
                id="checkout_integration.W020",
            )
    for row in remembered:
        of_signal = [each for each in connected if each.signal == row.signal]
        names = [each.name for each in of_signal if rows_of([row], row.signal, each.names)]
        if len(names) > 1:
            yield Error(
                f"Two receivers of {row.signal} are remembered as one: {', '.join(names)}.",
                hint="A receiver that says formerly=<a name> is the receiver of that name: connect one of them only, or give "
                "the other one a dispatch_uid that was never used.",
                id="checkout_integration.E020",
            )


@registered()
def check_one_database(**kwargs: Any) -> Iterator[CheckMessage]:
    """Report that accounts or content types are in another database than this app, whose rows point to them: E016."""
    ours = state_database()
    for model in (get_user_model(), ContentType):
        if (theirs := router.db_for_write(model)) != ours:
            yield Error(
                f"The tables of checkout_integration are in the database {ours!r}, and {model._meta.label} is in {theirs!r}: "
                "checkouts of accounts could not be stored, because no foreign key leads from one database to another.",
                hint=f"Let DATABASE_ROUTERS put checkout_integration into the database of {model._meta.label}.",
                id="checkout_integration.E016",
            )


@registered()
def check_database(**kwargs: Any) -> Iterator[CheckMessage]:
    """Warn of SQLite without IMMEDIATE transactions: W002. Warn of MySQL or MariaDB with snapshots: W007."""
    alias = state_database()
    connection = connections[alias]
    options = connection.settings_dict.get("OPTIONS", {})
    if keeps_old_snapshots(connection):
        yield Warning(
            f"Transactions of the database {alias!r} read rows as they were when they began: two orders, "
            "recorded inside transactions of your own (ATOMIC_REQUESTS), can both be taken as paying the same checkout.",
            hint=f'Leave isolation_level out of DATABASES[{alias!r}]["OPTIONS"], or set it to "read committed".',
            id="checkout_integration.W007",
        )
    elif connection.vendor == "sqlite" and options.get("transaction_mode") != "IMMEDIATE":
        yield Warning(
            f"The SQLite database {alias!r} does not use transaction_mode IMMEDIATE: concurrent notifications fail with "
            '"database is locked".',
            hint=f'Set DATABASES[{alias!r}]["OPTIONS"] = {{"transaction_mode": "IMMEDIATE", '
            '"init_command": "PRAGMA journal_mode=WAL;"}.',
            id="checkout_integration.W002",
        )


@registered(deploy=True)
def check_connections(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --deploy``: warn if each request opens a database connection of its own: W009."""
    alias = state_database()
    options = connections[alias].settings_dict
    pooled = bool(options.get("OPTIONS", {}).get("pool"))
    if connections[alias].vendor != "sqlite" and not pooled and options.get("CONN_MAX_AGE") == 0:
        yield Warning(
            f"CONN_MAX_AGE of DATABASES[{alias!r}] is 0: each notification opens a database connection of its own, which "
            "takes longer than to accept it.",
            hint=f'Set DATABASES[{alias!r}]["CONN_MAX_AGE"] = 60 and ["CONN_HEALTH_CHECKS"] = True; or silence this check '
            "where a pooler beside the web processes keeps connections.",
            id="checkout_integration.W009",
        )


@registered(deploy=True)
def check_prepared(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --deploy``: say that PostgreSQL plans each statement anew, on connections that stay open: I001."""
    alias = state_database()
    options = connections[alias].settings_dict
    prepared: Mapping[str, Any] = options.get("OPTIONS", {})
    stays_open = options.get("CONN_MAX_AGE") != 0 or prepared.get("pool")
    # Said for a pooler in transaction mode, which may not know the statements of another connection.
    shared = options.get("DISABLE_SERVER_SIDE_CURSORS")
    if connections[alias].vendor != "postgresql" or find_spec("psycopg") is None or not stays_open or shared:
        return
    if prepared.get("server_side_binding") and prepared.get("prepare_threshold") is not None:
        return
    yield Info(
        f"The database {alias!r} plans the statements of each payment anew.",
        hint=f'Set DATABASES[{alias!r}]["OPTIONS"] = {{"server_side_binding": True, "prepare_threshold": 5}}, which'
        " takes two fifths off the database's time for a payment; or silence this check behind a pooler without prepared "
        "statements.",
        id="checkout_integration.I001",
    )


@registered(Tags.database)
def check_backlog(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn if no process applies notifications and runs receivers: W010."""
    seconds = queue_state().oldest_seconds
    if seconds > LONGEST_LEFT:
        yield Warning(
            f"Something has been due for {seconds / 60:.0f} minutes, and no process does it: payments are not applied, or "
            "receivers do not run.",
            hint=f"In {SETTING}, {_in_english(WHO_WORKS[conf.app_settings().runner])}",
            id="checkout_integration.W010",
        )


@registered(Tags.database)
def check_removed_projects(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn of aliases that PROJECTS lacks, and of which something waits: W016."""
    for alias, count in waiting_of_removed().items():
        if count:
            yield Warning(
                f"The database has {count} notifications and incidents that wait for a project {alias!r}, which "
                f'{SETTING}["PROJECTS"] does not have: nobody applies them.',
                hint="Put the alias back until none waits. A project that was renamed keeps its old alias beside the new "
                "one.",
                id="checkout_integration.W016",
            )


@registered(Tags.database)
def check_sync(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn if no process reads the transaction list: W011."""
    unsynced = unsynced_for()
    if unsynced <= LONGEST_UNSYNCED:
        return
    yield Warning(
        f"The transaction list was not read to its end for {unsynced.total_seconds() / 3600:.0f} hours: a payment whose "
        "notification was lost is not found.",
        hint=f"In {SETTING}, {_in_english(WHO_SYNCS[conf.app_settings().runner])} The admin's sync runs show passes that "
        "failed.",
        id="checkout_integration.W011",
    )


@registered(Tags.database)
def check_attempt_times(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn if the times of attempts are not those that RETRY_INTERVAL is for: W024."""
    for alias, project in conf.app_settings().projects.items():
        if contradicting(project)[0]:
            yield Warning(
                f"Delivery attempts of one notification of the project {alias!r} have the same created_at, so the service "
                "does not rewrite it, or it counts them from 1. A notification counts as older than it is.",
                hint=f'Set RETRY_INTERVAL of {SETTING}["PROJECTS"][{alias!r}] to 0.',
                id="checkout_integration.W024",
            )


def _in_english(text: StrOrPromise) -> str:
    """Return a text of the admin as checks have it: in one language with the rest of the message."""
    with override(None):
        return str(text)


@registered(Tags.database)
def check_history(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --database``: warn if the database would let the history of orders be changed: W015."""
    for name in missing_triggers():
        yield Warning(
            f"The database does not keep the history of orders from being changed by SQL: the trigger {name} is missing.",
            hint="With an account that may create triggers: manage.py migrate checkout_integration 0001, then manage.py "
            "migrate checkout_integration.",
            id="checkout_integration.W015",
        )


@registered(Tags.security, deploy=True, uses_settings=True)
def check_deployment(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --deploy``: report secrets that cannot be used (E005, E015, E022) or are the sandbox's (E010).

    Warn of settings for development, W003 to W005, and of a secret with a line end, W017.
    """
    app = conf.app_settings()
    yield from _errors(conf.health_token_problems(app))
    for project in app.projects.values():
        place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
        yield from _errors(conf.ownership_token_problems(project))
        yield from _check_secrets(project, place)
        if project.accept_test_payments:
            yield Warning(
                f"ACCEPT_TEST_PAYMENTS of {place} is on: its checkouts take test payments, and no real ones.",
                hint="Set ACCEPT_TEST_PAYMENTS to False, or to DEBUG.",
                id="checkout_integration.W003",
            )
        for name in ("ALLOW_HTTP_LOOPBACK", "ALLOW_HTTP_HOSTS"):
            if getattr(project, name.lower()):
                yield Warning(
                    f"{name} of {place} allows http:// addresses.",
                    hint=f"Leave {name} out, or set it in development only.",
                    id="checkout_integration.W004",
                )
    if app.runner == "request":
        yield Warning(
            f'RUNNER of {SETTING} is "request": web processes apply notifications and run receivers, and what '
            "failed is tried again only with the next notification.",
            hint='Set RUNNER to "celery" or "worker".',
            id="checkout_integration.W005",
        )


@registered(deploy=True)
def check_redirects(**kwargs: Any) -> Iterator[CheckMessage]:
    """With ``check --deploy``: warn of settings that may answer a notification with a redirect, which loses it: W019."""
    hints = {}
    if settings.PREPEND_WWW and _has_middleware("CommonMiddleware"):
        hints["PREPEND_WWW"] = (
            "Give the service the address with www., or let your web server redirect people only."
        )
    path = _path_of_webhook()
    if (
        settings.SECURE_SSL_REDIRECT
        and not settings.SECURE_PROXY_SSL_HEADER
        and _has_middleware("SecurityMiddleware")
        and not any(re.search(each, path) for each in settings.SECURE_REDIRECT_EXEMPT)
    ):
        hints["SECURE_SSL_REDIRECT"] = (
            "Behind a proxy that terminates TLS, set SECURE_PROXY_SSL_HEADER; without one, silence this check."
        )
    for name, hint in hints.items():
        yield Warning(
            f"{name} may answer the service's notifications with a redirect, which the service does not follow: payments "
            "would not arrive.",
            hint=hint,
            id="checkout_integration.W019",
        )


def _path_of_webhook() -> str:
    try:
        return reverse("checkout_integration:webhook").lstrip("/")
    except NoReverseMatch:  # not in the shop's urls yet
        return ""


def _has_middleware(name: str) -> bool:
    return any(each.rpartition(".")[2] == name for each in settings.MIDDLEWARE)


def _check_secrets(project: conf.Project, place: str) -> Iterator[CheckMessage]:
    found = list(conf.secret_problems(project))
    yield from _errors(found)
    if not found and project.secrets_with_line_end:
        yield Warning(
            f"A callable of SECRET_KEY or PREVIOUS_SECRET_KEYS of {place} returns a key with a line end, which is left out.",
            hint="Let it return the key alone, as text.strip() does.",
            id="checkout_integration.W017",
        )
    if not found and any(secret.reveal().startswith(SANDBOX_SECRET_PREFIX) for secret in project.secrets):
        yield Error(
            f"SECRET_KEY of {place} is a secret of the sandbox, which anyone can know.",
            hint="Set SECRET_KEY to the project's own Secret key.",
            id="checkout_integration.E010",
        )
