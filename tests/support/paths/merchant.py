"""The blank project beside the service that it uses: what its merchant and its customers do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import requests

from checkout_integration.sandbox import Sandbox
from tests.support.paths.blank_project import PROJECT_ID, BlankProject

SELL = """
from decimal import Decimal
from django.contrib.auth import get_user_model
from checkout_integration import flows
from shop.models import Basket
robin, _ = get_user_model().objects.get_or_create(username="robin-sells")
basket = Basket.objects.create(buyer=robin)
print(flows.create_checkout(amount=Decimal("9.99"), currency="USD", subject=basket).order_id)
"""
UNDONE = """
import time
from checkout_integration.models import ReceiverRun, FailedAttempt
orders = {}
deadline = time.monotonic() + 20
runs = ReceiverRun.objects.filter(message__order__order_id__in=orders)
while (left := runs.exclude(state="done").count()) and time.monotonic() < deadline:
    time.sleep(0.1)
print(*FailedAttempt.objects.filter(run__in=runs).values_list("traceback", flat=True), left, sep="\\n")
"""
DELIVERED = "from shop.models import Delivery; print(Delivery.objects.count())"


@dataclass(frozen=True, kw_only=True)
class Merchant:
    """The blank project beside the service that it uses."""

    project: BlankProject
    sandbox: Sandbox

    @contextmanager
    def served(self, settings: str = "", **variables: str) -> Iterator[str]:
        """Serve the project, and let the service notify it."""
        with self.project.served(settings=settings, **variables) as shop:
            self.sandbox.projects.update(PROJECT_ID, webhook_url=f"{shop}/checkout/webhook/")
            yield shop

    def sell(self) -> str:
        """Sell something; gives the order's id."""
        return self.project.manage("shell", "-c", SELL).split()[-1]

    def sell_and_pay(self) -> str:
        """Sell something that the customer pays for at once."""
        order_id = self.sell()
        self.sandbox.payments.pay(order_id)
        return order_id

    def runs_left(self, orders: Sequence[str]) -> str:
        """Wait for the receivers of these orders; gives how many are not done, after what made them fail."""
        text = self.project.manage("shell", "-c", UNDONE.format(list(orders))).strip()
        left = text.rpartition("\n")[2]
        return left if left == "0" else text

    def count_delivered(self) -> int:
        """How many baskets the receivers have delivered."""
        return int(self.project.manage("shell", "-c", DELIVERED).split()[-1])


def await_note(project: BlankProject, note: str) -> None:
    """Wait until a receiver has noted this: receivers run after the response."""
    await_that(lambda: note in project.notes(), lambda: f"{note!r} is not among {project.notes()}")


def await_that(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)


def log_in(project: BlankProject, shop: str, session: requests.Session, name: str) -> None:
    """Make a superuser and log in at the admin."""
    account = {"DJANGO_SUPERUSER_PASSWORD": "sam-helps", "DJANGO_SUPERUSER_USERNAME": name}
    project.manage("createsuperuser", "--noinput", "--email", "sam@example.com", **account)
    session.get(f"{shop}/admin/login/", timeout=30)
    form = {"username": name, "password": "sam-helps", "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    session.post(f"{shop}/admin/login/", form, timeout=30)
