"""A web thread whose connection is ended at each point of a request: it takes the next payment, and tells no secret."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection, connections
from django.test import RequestFactory

from checkout_integration import flows
from checkout_integration.models import Order, ReceiverRun
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import UserDocumentFactory
from tests.stress.connections import shop
from tests.stress.connections.killing import Fuse, installed
from tests.support.flows.shop import leave_behind, make_due, notification
from tests.support.scale import times
from tests.support.wire import body_of, signature

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
ROUNDS = times(1, 20)


class WebThread:
    """One thread of a server that keeps its connection, as with CONN_MAX_AGE None: it handles requests one by one."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._handler = WSGIHandler()

    def post(self, document: Mapping[str, Any]) -> int:
        """Post a notification; return the status after all work that follows the response."""
        status, _ = self._threads.submit(self._post, body_of(document)).result()
        return status

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection.close_at = None
        request = RequestFactory().post(
            "/checkout/webhook/",
            body,
            content_type="application/json",
            headers={"Authorization": signature(body)},
        )
        statuses: list[str] = []

        def start(status: str, headers: object, error: object = None, /) -> Callable[[bytes], object]:
            statuses.append(status)
            return lambda sent: None

        environ = {**request.environ, "wsgi.errors": io.StringIO()}
        response = self._handler(environ, start)
        content = b"".join(response)
        response.close()
        assert shop.CANARY.encode() not in content
        return int(statuses[0].split()[0]), content


@pytest.fixture
def fuse() -> Iterator[Fuse]:
    """A fuse that the connections of this process and the shop's receivers pass."""
    with installed(Fuse()) as made:
        shop.connect(made)
        yield made
        shop.disconnect()


@pytest.fixture
def web(settings: Any) -> Iterator[WebThread]:
    """A web thread that also runs receivers."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "RUNNER": "request",
        "REQUEST_BUDGET": 10,
    }
    with ThreadPoolExecutor(1) as threads:
        yield WebThread(threads)
        threads.submit(connections.close_all).result()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged, with the tracebacks of exceptions."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)


def payment() -> dict[str, Any]:
    """A notification of a payment for a checkout."""
    return notification(order=order_document_for(CheckoutFactory()))


def question() -> dict[str, Any]:
    """A user.validate."""
    return notification("user.validate", UserDocumentFactory())


def drain() -> None:
    """Do all that is left, as the periodic drain does it in the end."""
    done = flows.DueSummary(run=1)
    while done.run or done.applied:  # a call has its limits: twenty rounds leave more than one can do
        leave_behind()
        make_due()
        done = flows.run_due()


@pytest.mark.parametrize("make", [payment, question], ids=["a payment", "user.validate"])
def test_thread_goes_on(
    make: Callable[[], dict[str, Any]], web: WebThread, fuse: Fuse, log: io.StringIO
) -> None:
    """Whatever point it is: no 500, the next requests are answered 200, and each receiver's effect is there once."""
    sent: list[dict[str, Any]] = [payment()]
    statuses: Counter[int] = Counter()
    points: Counter[str] = Counter()
    problems: list[str] = []
    web.post(sent[0])
    for _ in range(ROUNDS):
        number, burnt = 0, "first"
        while burnt:
            document = make()
            fuse.arm(number)
            status = web.post(document)
            burnt = fuse.burnt
            fuse.arm(None)
            statuses[status] += 1
            points[burnt] += 1
            if status == 403 and make is question:
                status = 200
            if status == 503:  # the service delivers it again
                status = web.post(document)
            following = payment()
            answers = [web.post(following), web.post(question())]
            if status != 200 or answers not in ([200, 200], [200, 403]):  # 403: the shop has no validator
                problems.append(f"{number} {burnt}: {status} {answers}")
            sent += [following, *([document] if make is payment else [])]
            number += 1
    assert not problems
    drain()
    orders = {document["object"]["id"] for document in sent}
    names = Group.objects.filter(name__startswith="goods of").values_list("name", flat=True)
    goods = Counter(name.split()[2] for name in names)
    assert goods == Counter(dict.fromkeys(orders, 1))
    assert set(ReceiverRun.objects.values_list("state", flat=True)) == {"done"}
    assert Order.objects.count() == len(orders)
    assert not Group.objects.filter(name__startswith="rolled back").exists()
    assert shop.CANARY not in log.getvalue()
    assert set(statuses) <= {200, 403, 503}
    print(
        f"{connection.vendor}: {sum(points.values())} connections ended at {len(points)} points, {dict(statuses)}"
    )
    print(*sorted(points.items()), sep="\n")
