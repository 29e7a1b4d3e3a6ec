"""What ``checkout_doctor`` looks at, from the settings outwards: each look yields findings, whose action is the mend.

A look that needs what an earlier one found broken says nothing: the earlier finding is the one to mend. Nothing is changed.
The notification by which the webhook is tried is deleted again, so that it does not count as one of the service's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import requests
from django.apps import apps
from django.core.checks import ERROR, WARNING, CheckMessage
from django.core.checks.registry import registry
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.urls import NoReverseMatch

from checkout_integration import checks, errors, flows
from checkout_integration.conf import Project, app_settings
from checkout_integration.flows.database import database_now, state_database
from checkout_integration.flows.monitoring import WHO_WORKS, Finding
from checkout_integration.flows.outbox import connected_here, is_absent, read_receivers, rows_of
from checkout_integration.management.database_command import webhook_path
from checkout_integration.models import Notification
from checkout_integration.policy.severity import Severity
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.protocol.signature import Encoding, sign
from checkout_integration.protocol.vocabulary import SIGNATURE_SCHEME, Event, OrderStatus, TestingCase

PATIENCE: Final = 5
"""Seconds that each request waits."""
CLOCK_APART: Final = 30.0
"""Seconds by which a clock may differ from the service's: its header has whole seconds, and the way takes some."""
SAID_BY_HEALTH: Final = frozenset({"W010", "W011", "W016", "W024"})
"""Checks whose finding health has too, with more to say."""
WHO_ASKS: Final = {"User-Agent": "checkout_doctor"}


def examine(shop: str, *, deploy: bool) -> Iterator[Finding]:
    """Yield what is the case, from the settings outwards; ``action`` of a finding that is not ok says what mends it.

    Args:
        shop: the shop's address as the service knows it, such as https://your.host; "" for none.
        deploy: whether the settings should be those of production.

    """
    unusable = checks.check_settings(None)
    yield from _checked(unusable or said_by_checks(deploy=deploy), deploy=deploy)
    if unusable:
        return
    database = list(_database())
    yield from database
    usable = all(each.severity is Severity.OK for each in database)
    yield from _service()
    yield from _addresses()
    yield from _webhook(shop, usable=usable)
    yield from _runner()
    if usable:
        yield from _receivers()
        yield from flows.operations.health().findings


def said_by_checks(*, deploy: bool) -> list[CheckMessage]:
    """Return what the system checks of the app say."""
    return [
        message
        for check in registry.get_checks(deploy)
        if check.__module__ == checks.__name__
        for message in check(app_configs=None, databases=[state_database()])
    ]


def _checked(messages: Iterable[CheckMessage], *, deploy: bool) -> Iterator[Finding]:
    """Yield what the system checks say; health says some of it with more words."""
    said = [each for each in messages if each.level >= WARNING and not each.is_silenced()]
    by_code = [(str(each.id).rpartition(".")[2], each) for each in said]
    shown = [(code, message) for code, message in by_code if code not in SAID_BY_HEALTH]
    for code, message in shown:
        severity = Severity.FAILING if message.level >= ERROR else Severity.WARNING
        yield _wrong(f"check {code}", str(message.msg), str(message.hint or ""), severity=severity)
    if not shown:
        kind = "those of production too" if deploy else "without those of production (--deploy)"
        yield Finding(name="settings", text=f"The system checks of the app find nothing, {kind}.")


def _database() -> Iterator[Finding]:
    """Yield whether the database responds, and has the tables of this release."""
    connection = connections[state_database()]
    try:
        connection.ensure_connection()
        executor = MigrationExecutor(connection)
        label = apps.get_app_config("checkout_integration").label
        last = [node for node in executor.loader.graph.leaf_nodes() if node[0] == label]
        missing = [migration.name for migration, _backwards in executor.migration_plan(last)]
        version = ".".join(map(str, connection.get_database_version()))
    except DatabaseError as error:
        text = f"The database {connection.alias!r} does not respond ({type(error).__name__})."
        yield _wrong("database", text, "Start it, or correct DATABASES.")
        return
    if missing:
        text = f"The tables of this release are not made: {', '.join(missing)}."
        yield _wrong("migrations", text, "Run manage.py migrate.")
    else:
        yield Finding(
            name="migrations", text=f"{connection.display_name} {version} has the tables of this release."
        )


def _service() -> Iterator[Finding]:
    """Yield for each project whether the service takes its key: one page of the transaction list is read."""
    for alias, project in app_settings().projects.items():
        try:
            with flows.sync.service_client(alias) as client:
                client.within(PATIENCE).list_transactions(TransactionFilter(limit=1))
            is_rotated = len(project.secrets) > 1
        except errors.CheckoutError as error:
            away = isinstance(error, (errors.ServiceUnreachable, errors.DeadlineExceeded))
            mend = "Correct BASE_URL and LIST_URL, or let this host reach them."
            if isinstance(error, (errors.BadCredentials, errors.ListFailed)):
                mend = "Compare PROJECT_ID and SECRET_KEY with the project's page at the service."
            name = "service_away" if away else "service_refuses"
            yield _wrong(name, f"The transaction list cannot be read: {error}.", mend, alias)
        except Exception as error:  # noqa: BLE001  # a callable of the settings may raise anything
            text = f"The transaction list cannot be read: {type(error).__name__}."
            mend = "manage.py check --deploy looks at the key and at HTTP_SESSION."
            yield _wrong("service_refuses", text, mend, alias)
        else:
            text = "The service takes the key of the project."
            if is_rotated:
                text = "The service takes SECRET_KEY, or one of PREVIOUS_SECRET_KEYS: then the log names it."
            yield Finding(name="service_reads", project=alias, text=text)


def _addresses() -> Iterator[Finding]:
    """Yield whether what customers' browsers load is there, and how far our clock is from the service's."""
    seen: dict[str, requests.Response | None] = {}
    for project in app_settings().projects.values():
        for name in ("checkout_url", "order_form_url", "client_script_url", "base_url"):
            address = getattr(project, name)
            if not address or address in seen:
                continue
            seen[address] = response = _response("GET", address)
            wrong = response is None or response.status_code >= 500
            # The addresses of calls have no page of their own: any answer shows that somebody is there.
            if wrong or (
                name == "client_script_url" and response is not None and response.status_code != 200
            ):
                status = "no response" if response is None else f"the status {response.status_code}"
                kind = "address_away" if response is None else "address"
                mend = f"Correct {name.upper()}, or let this host reach it."
                yield _wrong(kind, f"{name.upper()} gives {status}.", mend, project.alias)
    answered = [each for each in seen.values() if each is not None]
    if len(answered) == len(seen):
        yield Finding(name="address", text=f"The {len(seen)} addresses of the service answer.")
    yield from _clock(answered)


def _clock(responses: Sequence[requests.Response]) -> Iterator[Finding]:
    for response in responses:
        try:
            theirs = parsedate_to_datetime(response.headers["Date"]).replace(
                tzinfo=UTC
            )  # RFC 9110: always GMT
        except (KeyError, ValueError):
            continue
        apart = (datetime.now(UTC) - theirs).total_seconds()
        if abs(apart) <= CLOCK_APART:
            yield Finding(name="clock", text="The clock of this host agrees with the service's.")
        else:
            yield Finding(
                name="clock",
                severity=Severity.WARNING,
                text=f"The clock of this host is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} the service's.",
                action="Let chrony, or the service of your provider, set it. A sandbox is ahead by what it was let wait:"
                " checkout_sandbox do wait now.",
            )
        return


def _response(method: str, address: str, **given: Any) -> requests.Response | None:
    try:
        return requests.request(
            method, address, timeout=PATIENCE, allow_redirects=False, **{"headers": WHO_ASKS, **given}
        )
    except requests.RequestException:
        return None


def _webhook(shop: str, *, usable: bool) -> Iterator[Finding]:
    """Yield for each project whether its webhook acknowledges a signed testing case, at the address the service has."""
    for project in app_settings().projects.values():
        try:
            path = webhook_path(project)
        except NoReverseMatch:
            mend = 'Put path("checkout/", include("checkout_integration.urls")) into the URLconf.'
            yield _wrong("webhook", "This shop has no address for notifications.", mend, project.alias)
            continue
        if not shop:
            text = f"The webhook was not tried; its path is {path}."
            mend = "Name the shop's address as the service knows it: --shop https://your.host."
            yield _wrong("webhook", text, mend, project.alias, Severity.UNKNOWN)
        elif usable:
            yield _tried(project, shop.rstrip("/") + path)


def _tried(project: Project, address: str) -> Finding:
    """Send a testing case as the service does. The row that it makes is deleted: it must be in this very database."""
    key = f"doctor-{uuid.uuid4().hex}"
    body = strict_json.dumps(_testing_case(key)).encode()
    try:
        signature = sign(body, project.secrets[0], Encoding(project.signature_encodings[0]))
    except Exception as error:  # noqa: BLE001  # a callable of the settings may raise anything
        text = f"The key of the project cannot be read ({type(error).__name__})."
        return _wrong("webhook", text, "Correct SECRET_KEY.", project.alias)
    headers = {
        **WHO_ASKS,
        "Authorization": f"{SIGNATURE_SCHEME} {signature}",
        "Content-Type": "application/json",
    }
    response = _response("POST", address, data=body, headers=headers)
    stored, _rows = Notification.primary.filter(project=project.alias, notification_id=key).delete()
    if response is None:
        return _wrong("webhook", f"{address} does not respond.", UNREACHED, project.alias)
    status = response.status_code
    if status != 200 or response.content:
        what = f"the status {status}" if status != 200 else "200 with a text"
        mend = MENDS.get(status) or MENDS.get(status // 100, UNREACHED)
        if 300 <= status < 400:
            what += f", to {response.headers.get('Location', 'no address')}"
        return _wrong("webhook", f"{address} answers a testing case with {what}.", mend, project.alias)
    if not stored:
        text = f"{address} acknowledges a testing case, but this database did not get it."
        return _wrong(
            "webhook",
            text,
            "The address is another installation's, or its DATABASES are others.",
            project.alias,
        )
    text = f"{address} acknowledges a signed testing case with an empty 200, and this database got it."
    return Finding(name="webhook", project=project.alias, text=text)


def _testing_case(key: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    order = {"id": key, "status": OrderStatus.PROCESSED.value, "created_at": now}
    return {
        "id": key,
        "type": "webhook",
        "event": Event.PAYMENT_SUCCESS.value,
        "live": False,
        "created_at": now,
        "object": {**order, "testing_case": TestingCase.CORRECT_PAYMENT.value},
    }


def _wrong(
    name: str, text: str, action: str, project: str = "", severity: Severity = Severity.FAILING
) -> Finding:
    return Finding(name=name, project=project, severity=severity, text=text, action=action)


UNREACHED: Final = (
    "Start the web server, and let the address lead to it, with a certificate that clients trust."
)
MENDS: Final[Mapping[int, str]] = {
    2: "Something else answers at this address: let it lead to this shop, unchanged.",
    3: "The service does not follow redirects: give it the address that answers, with https and the last slash.",
    401: "A proxy drops the header Authorization or changes the body, or the web process has another SECRET_KEY.",
    403: "A firewall, a middleware or a login stands before the webhook: let its path pass.",
    404: "Include checkout_integration.urls at this path; restart the web process, which may lack the project's alias.",
    4: "ALLOWED_HOSTS lacks the host, or something before the shop refuses or changes it: let the path pass.",
    5: "Look at the log of the web process: its database does not respond, or the proxy does not reach it.",
}
"""What to do about a status; for most, by its first digit."""
"""Mends by ranges of statuses; the first that fits."""


def _runner() -> Iterator[Finding]:
    """Yield who works; with Celery whether the broker responds and which workers know the app's tasks."""
    runner = app_settings().runner
    if runner != "celery":
        yield Finding(name="runner", text=f"RUNNER is {runner!r}.")
        return
    try:
        from checkout_integration.tasks import TASKS, broker_answers, tasks_of_workers
    except ImportError:
        return  # E012 says it
    if not broker_answers(PATIENCE):
        text = "The broker does not respond: tasks reach no worker. The drain finds the rows once it does."
        action = "Start it, or correct broker_url (CELERY_BROKER_URL)."
        yield _wrong("broker", text, action)
        return
    yield Finding(name="broker", text="The broker responds.")
    workers: Mapping[str, frozenset[str]] = tasks_of_workers(PATIENCE / 2)
    without = sorted(name for name, tasks in workers.items() if not tasks >= TASKS)
    action = str(WHO_WORKS["celery"])
    if not workers:
        yield _wrong("workers", "No worker responds.", action)
    elif without:
        text = f"Workers that do not know the tasks of the app: {', '.join(without)}."
        action = "Let them load the shop's Celery app, with checkout_integration in INSTALLED_APPS, and restart them."
        yield _wrong("workers", text, action, severity=Severity.WARNING)
    else:
        yield Finding(name="workers", text=f"Workers that know the tasks of the app: {len(workers)}.")


def _receivers() -> Iterator[Finding]:
    """Yield the receivers of this code that no process which runs receivers has had for five minutes."""
    own, rows, now = connected_here(), read_receivers().rows, database_now()
    if not any(row.last_ready for row in rows):
        text = f"Receivers connected here: {len(own)}. No process has run any yet."
        yield Finding(name="receivers", severity=Severity.UNKNOWN, text=text)
        return
    missing = sorted(
        f"{each.name} ({each.signal})"
        for each in own
        if all(is_absent(row, now) for row in rows_of(rows, each.signal, each.names))
    )
    if missing:
        text = f"No process that runs receivers has had this for five minutes: {', '.join(missing)}."
        action = "Restart the processes that run receivers: they have an older release, or lack the app."
        yield _wrong("receivers", text, action, severity=Severity.WARNING)
    else:
        yield Finding(name="receivers", text=f"Receivers that are connected here and run: {len(own)}.")
