"""A small shop for the tests: receivers that record calls, hooks that can fail, and notifications of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, connections
from django.db.backends.signals import connection_created
from django.utils import timezone

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.ledger.batch import OrderChange
from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import (
    Checkout,
    CheckoutUser,
    Notification,
    Order,
    ReceiverRun,
)
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import DurableSignal
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.support.flows.recording import record

Heard = list[dict[str, Any]]
Effect = Callable[..., Any]


class Listening:
    """Connects receivers for the length of a test. Each has a name, as receivers of a shop do."""

    def __init__(self) -> None:
        self._connected: list[tuple[DurableSignal[Any], str]] = []

    def __call__(self, signal: DurableSignal[Any], effect: Effect | None = None, *, name: str = "") -> Heard:
        """Connects a receiver that has an effect and then remembers its arguments; what it heard is returned."""
        heard: Heard = []

        def receive(**arguments: Any) -> None:
            if effect is not None:
                effect(**arguments)
            heard.append(arguments)

        self.connect(signal, receive, name or f"test.{signal.name}")
        return heard

    def connect(self, signal: DurableSignal[Any], receiver: Effect, name: str, **options: Any) -> None:
        """Connects a receiver as it is."""
        signal.connect(receiver, weak=False, dispatch_uid=name, **options)
        self._connected.append((signal, name))

    def end(self) -> None:
        """Disconnects them all."""
        for signal, name in self._connected:
            signal.disconnect(dispatch_uid=name)


class Failing:
    """An effect that raises a number of times; ``tries`` counts all its runs."""

    def __init__(self, times: int = 10**6) -> None:
        self.times = times
        self.tries = 0

    def __call__(self, **arguments: Any) -> None:
        """Fails while it should."""
        self.tries += 1
        if self.tries <= self.times:
            raise ValueError("canary-of-a-receiver")


def own(order: Order, **arguments: Any) -> None:
    """Grants goods: a row named after the order, in the same database."""
    Group.objects.create(name=f"goods of {order.order_id}")


def disown(order: Order, **arguments: Any) -> None:
    """Takes them back."""
    Group.objects.filter(name=f"goods of {order.order_id}").delete()


def owned() -> int:
    """How many goods are owned."""
    return Group.objects.filter(name__startswith="goods of").count()


def sell_more() -> None:
    """Fill the table of checkouts: MariaDB scans a small table whole and locks all of its rows."""
    _fill(Checkout(project="default", type="simple") for _ in range(500))


def meet_more() -> None:
    """Fill the table of customers in the same way."""
    _fill(CheckoutUser(project="default", identity=f"{number:032}") for number in range(500))


def _fill(rows: Iterable[Checkout] | Iterable[CheckoutUser]) -> None:
    made = list(rows)
    type(made[0]).objects.bulk_create(made)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {'TABLE' if connection.vendor == 'mysql' else ''} {made[0]._meta.db_table}")


def make_due() -> None:
    """Lets the waits of failed runs be over."""
    ReceiverRun.objects.filter(state=ReceiverRun.State.DUE).update(
        due_at=timezone.now() - timedelta(seconds=1)
    )


def leave_behind() -> None:
    """Make due and running rows a minute old, as after the death of their process."""
    then = timezone.now() - timedelta(minutes=1)
    Notification.objects.filter(due_at__isnull=False).update(due_at=then)
    ReceiverRun.objects.filter(state__in=["due", "running"]).update(due_at=then)


class ShopHooks(Hooks):
    """Hooks with results that a test sets. The fixture ``hooks`` resets them after the test."""

    user: Callable[[User], Any] = staticmethod(lambda user: False)
    resolve: Callable[[Any], Any] = staticmethod(lambda order: None)
    find: Callable[[User], Any] = staticmethod(lambda user: None)

    def validate_user(self, user: User) -> bool | Refusal:
        """As the test says."""
        answer: bool | Refusal = type(self).user(user)
        return answer

    def resolve_checkout(self, order: Any) -> Any:
        """As the test says."""
        return type(self).resolve(order)

    def find_user(self, user: User) -> Any:
        """As the test says."""
        return type(self).find(user)


class ToNowhere:
    """A router that sends state to a database that cannot be opened."""

    def db_for_write(self, model: type[Any], **hints: Any) -> str | None:
        """Nowhere for the app's own tables."""
        return "nowhere" if model._meta.app_label == "checkout_integration" else None

    db_for_read = db_for_write


def notification(
    event: str = Event.PAYMENT_SUCCESS,
    order: Mapping[str, Any] | None = None,
    *,
    at: datetime | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A notification of an event that happened ``at`` (now)."""
    sent = {} if order is None else {"object": order}
    moment = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    made: dict[str, Any] = NotificationDocumentFactory(event=event, created_at=moment, **sent, **changes)
    return made


def row_of(observation: Observation) -> dict[str, Any]:
    """The notification that makes this observation; attempts of one event share its id."""
    return notification(
        observation.event or "",
        observation.order.document,
        at=observation.observed_at,
        id=f"message-{observation.event}",
        delivery_try=observation.delivery_try,
        live=observation.live,
    )


def as_read(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as it is read from the wire."""
    read = strict_json.loads(strict_json.dumps(document).encode())
    assert isinstance(read, dict)
    return read


def record_listed(
    rows: Sequence[Mapping[str, Any]], *, at: datetime | None = None, project: str = "default"
) -> list[OrderChange]:
    """Records rows of the transaction list as one page that was answered ``at`` (now)."""
    observations = [
        Observation(
            source=Source.LIST,
            order=parse_order(as_read(row)),
            observed_at=at or timezone.now(),
        )
        for row in rows
    ]
    return record(app_settings().project(project), observations, Cause(source=Source.LIST))


def fault(sandbox: Sandbox, point: str, kind: str, subject: str = "", **more: Any) -> None:
    """Lets the service fail in one way from now on."""
    sandbox.faults.set_from({"rules": [{"point": point, "kind": kind, "subject": subject, **more}]})


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collects every SQL statement, of this thread's connections and of those that other threads open meanwhile."""
    seen: list[str] = []

    def remember(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql)
        return execute(sql, params, many, context)

    def follow(*, connection: Any, **kwargs: object) -> None:
        connection.execute_wrappers.append(remember)

    mine = connections.all()
    connection_created.connect(follow)
    for each in mine:
        each.execute_wrappers.append(remember)
    try:
        yield seen
    finally:
        connection_created.disconnect(follow)
        for each in mine:
            each.execute_wrappers.remove(remember)
