"""Two releases at once: a web process, `checkout_work` and Celery are rolled out one after the other, and back.

Payments come all the while. No receiver gets an event twice; each gets it once, or health names it within five minutes. The
full run has each order of the three processes, with 105 payments or more each.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
import requests
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import F
from django.urls import reverse

from checkout_integration.flows import operations
from checkout_integration.models import Notification, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.signature import sign
from checkout_integration.protocol.values import Secret
from checkout_integration.testing.factories import CheckoutFactory, order_document_for
from checkout_integration.testing.payloads import NotificationDocumentFactory
from tests.stress.chaos.parts import Part, await_true
from tests.stress.releases.apps import RELEASE, RELEASES
from tests.support.scale import FULL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.mariadb,
    pytest.mark.redis,
    pytest.mark.django_db(transaction=True),
]
PROCESSES: Final = ("web", "worker", "celery")
ORDERS: Final = list(itertools.permutations(PROCESSES))
PAYMENTS: Final = 15 if FULL else 2
"""In each of seven phases: before, after each restart of the roll-out, and after each of the roll-back."""
READY: Final = {"web": "Quit the server", "worker": "Running receivers", "celery": " ready."}
APP: Final = "tests.stress.releases.celery"
CELERY: Final = ("--loglevel", "INFO", "--concurrency", "2", "--beat")
PATIENCE: Final = 120.0


class Rolling:
    """The three processes of a shop, each of one release; and the payments that came."""

    def __init__(self, change: str, broker: str, folder: Path) -> None:
        self.change, self._broker, self._folder = change, broker, folder
        self.releases: dict[str, str] = {}
        self._parts: dict[str, Part] = {}
        self.port = _free_port()
        self.paid: list[str] = []

    def start(self, process: str, release: str) -> None:
        """Start a process of a release, after the end of the one of its kind."""
        if process in self._parts:
            self._parts[process].stop()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.stress.releases.settings",
            "CHECKOUT_WORKER_DATABASE": str(connection.settings_dict["NAME"]),
            "CHECKOUT_WORKER_BROKER": self._broker,
            RELEASE: f"{self.change} {release}",
            "PYTHONUNBUFFERED": "1",
        }
        commands = {
            "web": ["django", "runserver", "--noreload", "--skip-checks", f"127.0.0.1:{self.port}"],
            "worker": ["django", "checkout_work", "--no-sync", "--slots", "2", "--interval", "0.2"],
            "celery": ["celery", "--app", APP, "worker", *CELERY, "--schedule", str(self._folder / "beat")],
        }
        name = f"{process}-{len(list(self._folder.iterdir()))}"
        part = Part(name, [sys.executable, "-m", *commands[process]], environment, self._folder)
        self._parts[process], self.releases[process] = part, release
        part.start()
        await_true(f"{name} is ready", lambda: READY[process] in part.last_words(40), PATIENCE)

    def stop(self) -> None:
        """End all processes."""
        for part in self._parts.values():
            print(part.name, part.last_words())
            part.stop()

    @property
    def known(self) -> set[str]:
        """The names of receivers that a process knows which runs receivers, with the former ones."""
        known = set[str]()
        for process in ("worker", "celery"):
            for name, options in RELEASES[f"{self.change} {self.releases[process]}"].items():
                known |= {name, *filter(None, [options.get("formerly")])}
        return known

    def pay(self, count: int) -> list[str]:
        """Let the web process accept so many payments, wait until what can run has run, and return their orders."""
        orders = [self._accept() for _ in range(count)]
        self.paid += orders
        self.settle()
        return orders

    def _accept(self) -> str:
        document = order_document_for(CheckoutFactory())
        body = strict_json.dumps(NotificationDocumentFactory(object=document)).encode()
        signed = f"Signature {sign(body, Secret('sandbox_test_secret'))}"
        response = requests.post(
            f"http://127.0.0.1:{self.port}{reverse('checkout_integration:webhook')}",
            data=body,
            headers={"Authorization": signed, "Content-Type": "application/json"},
            timeout=60,
        )
        assert response.status_code == 200, response.text
        return str(document["id"])

    def settle(self) -> None:
        """Wait until everything is applied, and every run ended whose receiver a process knows."""

        def settled() -> bool:
            unapplied = Notification.objects.filter(due_at__isnull=False).exists()
            unfinished = ReceiverRun.objects.exclude(state__in=["done", "superseded", "failed"])
            return not (unapplied or unfinished.filter(receiver__in=self.known).exists())

        await_true("the work is done", settled, PATIENCE)

    def delivered(self) -> Counter[tuple[str, str]]:
        """How often each receiver got each order."""
        names = Group.objects.values_list("name", flat=True)
        return Counter((receiver, order) for receiver, order, _ in map(str.split, names))

    def later(self, **span: float) -> None:
        """Let time pass, by the rows."""
        passed = timedelta(**span)
        columns = ("first_seen", "last_seen", "last_ready", "missing_since", "retired_at")
        Receiver.objects.update(**{name: F(name) - passed for name in columns})
        OutboxMessage.objects.update(recorded_at=F("recorded_at") - passed)
        unfinished = ReceiverRun.objects.filter(state__in=["due", "unknown", "waiting"])
        unfinished.update(due_at=F("due_at") - passed)


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@contextmanager
def rolling(change: str, broker: str, folder: Path) -> Iterator[Rolling]:
    """Give a shop whose three processes have the old release."""
    shop = Rolling(change, broker, folder)
    try:
        for process in PROCESSES:
            shop.start(process, "old")
        yield shop
    finally:
        shop.stop()


def unknown() -> str:
    """The receivers that health names as unknown; "" if it is well."""
    (found,) = [each for each in operations.health().findings if each.name == "receivers_unknown"]
    assert (found.severity == "failing") == bool(found.figures["receivers"])
    return str(found.figures["receivers"])


def missing(shop: Rolling, receiver: str, orders: Sequence[str]) -> list[str]:
    """Those of the orders that the receiver has not got."""
    got = shop.delivered()
    return [order for order in orders if not got[receiver, order]]


def await_named(shop: Rolling, receiver: str) -> None:
    """Five minutes pass, in which the processes work and record themselves: health names the receiver.

    Health names it as soon as its runs are that old. It is retired a day after a process has noted that it is missing.
    """
    shop.later(minutes=5, seconds=10)
    shop.pay(1)
    await_true("health names it", lambda: unknown() == receiver, PATIENCE)
    noted = Receiver.objects.filter(name=receiver).exclude(missing_since=None)
    await_true("a process has noted that it is missing", noted.exists, PATIENCE)


def orders_of_run() -> list[tuple[str, ...]]:
    """Every order of restarts in the full run; else one, in which the worker comes last."""
    return ORDERS if FULL else [("web", "celery", "worker")]


@pytest.mark.parametrize("order", orders_of_run(), ids="-".join)
def test_added(order: tuple[str, ...], redis_url: str, tmp_path: Path) -> None:
    """The new receiver gets each payment that came after the first process with it, once; also after the roll-back."""
    with rolling("added", redis_url, tmp_path) as shop:
        shop.pay(PAYMENTS)
        expected: list[str] = []
        for process in order:
            shop.start(process, "new")
            expected += shop.pay(PAYMENTS)
        # A worker that has started records itself with the first work that it finds.
        recorded = [
            each
            for each in expected
            if ReceiverRun.objects.filter(receiver="letter", message__order__order_id=each).exists()
        ]
        assert expected[PAYMENTS:] == [each for each in expected[PAYMENTS:] if each in recorded]
        assert missing(shop, "letter", recorded) == []
        assert unknown() == ""
        for process in reversed(order):
            shop.start(process, "old")
            recorded += shop.pay(PAYMENTS)
        waiting = missing(shop, "letter", recorded)
        await_named(shop, "letter")
        shop.later(days=3)
        shop.pay(1)
        await_true("it is retired", lambda: Receiver.objects.exclude(retired_at=None).exists(), PATIENCE)
        before = ReceiverRun.objects.filter(receiver="letter").count()
        shop.pay(PAYMENTS)
        assert ReceiverRun.objects.filter(receiver="letter").count() == before
        assert unknown() == "letter", "what was paid does not end by itself"
        for process in order:
            shop.start(process, "new")
        shop.pay(1)
        assert missing(shop, "letter", recorded) == []
        assert set(shop.delivered().values()) == {1}
        assert missing(shop, "deliver", shop.paid) == []
        assert unknown() == ""
        report(shop, waiting)


@pytest.mark.parametrize("order", orders_of_run(), ids="-".join)
def test_removed(order: tuple[str, ...], redis_url: str, tmp_path: Path) -> None:
    """Payments wait for the removed receiver, by name; the roll-back delivers them, or staff say that it was removed."""
    with rolling("removed", redis_url, tmp_path) as shop:
        shop.pay(PAYMENTS)
        for process in order:
            shop.start(process, "new")
            shop.pay(PAYMENTS)
        assert missing(shop, "deliver", shop.paid) == []
        waiting = missing(shop, "letter", shop.paid)
        assert len(waiting) >= PAYMENTS
        await_named(shop, "letter")
        for process in reversed(order):
            shop.start(process, "old")
            shop.pay(PAYMENTS)
        assert missing(shop, "letter", shop.paid) == []
        assert unknown() == ""
        for process in order:
            shop.start(process, "new")
        shop.pay(PAYMENTS)
        await_named(shop, "letter")
        shop.later(days=1, minutes=1)
        shop.pay(1)
        await_true("it is retired", lambda: Receiver.objects.exclude(retired_at=None).exists(), PATIENCE)
        shop.later(days=3)
        assert shop.pay(1)
        assert unknown() == "letter"
        left = len(missing(shop, "letter", shop.paid))
        ended = operations.retire_receiver("letter")
        assert ended is not None and 0 < ended <= left
        assert unknown() == ""
        assert missing(shop, "deliver", shop.paid) == []
        assert set(shop.delivered().values()) == {1}
        report(shop, waiting)


@pytest.mark.parametrize("order", orders_of_run(), ids="-".join)
def test_renamed(order: tuple[str, ...], redis_url: str, tmp_path: Path) -> None:
    """It is one receiver: each payment is delivered once, by whichever process, out and back, and three days later."""
    with rolling("renamed", redis_url, tmp_path) as shop:
        shop.pay(PAYMENTS)
        for process in order:
            shop.start(process, "new")
            shop.pay(PAYMENTS)
        shop.later(days=3)
        shop.pay(1)
        for process in reversed(order):
            shop.start(process, "old")
            shop.pay(PAYMENTS)
        shop.later(days=3)
        shop.pay(1)
        got = Counter[str]()
        for (_receiver, paid), count in shop.delivered().items():
            got[paid] += count
        assert got == Counter(shop.paid)
        assert list(Receiver.objects.values_list("name", "retired_at")) == [("deliver", None)]
        assert unknown() == ""
        assert re.search("grant", " ".join(receiver for receiver, _ in shop.delivered())), "new ones ran too"
        report(shop, [])


def report(shop: Rolling, waited: Sequence[str]) -> None:
    """Print the figures."""
    done = sum(shop.delivered().values())
    print(
        f"{shop.change}: {len(shop.paid)} payments, {done} deliveries, 0 twice, {len(waited)} waited by name"
    )
