"""A small shop for the tests: receivers that remember, hooks that can fail, and news as the service tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, connections
from django.db.backends.signals import connection_created
from django.utils import timezone

from checkout_integration.conf import app_settings
from checkout_integration.flows.ledger import Cause
from checkout_integration.flows.ledger.order_change import OrderChange
from checkout_integration.hooks import Hooks, Refusal
from checkout_integration.models import Checkout, Order, ReceiverRun
from checkout_integration.policy.observation import Observation, Source
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.order import parse_order
from checkout_integration.protocol.user import User
from checkout_integration.protocol.vocabulary import Event
from checkout_integration.sandbox import Sandbox
from checkout_integration.signals import DurableSignal
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.flows.recording import record

Heard = list[dict[str, Any]]
Effect = Callable[..., Any]


class Listening:
    """Connects receivers for the length of a test. Each has a name, as receivers of a shop do."""

    def __init__(self) -> None:
        self._connected: list[tuple[DurableSignal, str]] = []

    def __call__(self, signal: DurableSignal, effect: Effect | None = None, *, name: str = "") -> Heard:
        """Connects a receiver that has an effect and then remembers its arguments; what it heard is returned."""
        heard: Heard = []

        def receive(**arguments: Any) -> None:
            if effect is not None:
                effect(**arguments)
            heard.append(arguments)

        self.connect(signal, receive, name or f"test.{signal.name}")
        return heard

    def connect(self, signal: DurableSignal, receiver: Effect, name: str) -> None:
        """Connects a receiver as it is."""
        signal.connect(receiver, weak=False, dispatch_uid=name)
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
    """Fill the table of sales: MariaDB reads one of a few rows as a whole, and locks all of them for the sake of one."""
    Checkout.objects.bulk_create(Checkout(project="default", type="simple") for _ in range(500))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {'TABLE' if connection.vendor == 'mysql' else ''} {Checkout._meta.db_table}")


def make_due() -> None:
    """Lets the waits of failed runs be over."""
    ReceiverRun.objects.filter(state=ReceiverRun.State.DUE).update(
        due_at=timezone.now() - timedelta(seconds=1)
    )


class ShopHooks(Hooks):
    """Hooks whose answers a test sets. Each is taken back after the test by the fixture ``hooks``."""

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
    told = {} if order is None else {"object": order}
    moment = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    made: dict[str, Any] = NotificationDocumentFactory(event=event, created_at=moment, **told, **changes)
    return made


def told_by(observation: Observation) -> dict[str, Any]:
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
