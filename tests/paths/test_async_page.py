"""docs/async.md: its views, asked under ASGI as a server asks them."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from threading import Event
from types import ModuleType
from typing import Any

import pytest
import requests
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from checkout_integration import flows
from checkout_integration.models import Checkout
from checkout_integration.testing.service import CheckoutSandbox
from tests.support.documents import block

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 60.0


class Meeting:
    """Where the request that waits for the service meets the one that is served meanwhile."""

    service_is_slow = Event()
    another_was_served = Event()


def slow_session() -> requests.Session:
    """Give the session of calls to the service only when another request was served meanwhile."""
    Meeting.service_is_slow.set()
    assert Meeting.another_was_served.wait(PATIENCE), "the event loop served nobody meanwhile"
    return requests.Session()


async def another(request: HttpRequest) -> HttpResponse:
    """Be served while the service is slow."""
    assert await asyncio.to_thread(Meeting.service_is_slow.wait, PATIENCE)
    Meeting.another_was_served.set()
    return HttpResponse("served")


@dataclass(frozen=True, kw_only=True)
class Site:
    """The page's views at addresses, and the session of an account."""

    module: ModuleType
    cookie: str

    async def ask(self, method: str, address: str) -> tuple[int, dict[str, str], bytes]:
        """Send a request as an ASGI server does."""
        headers = [(b"host", b"testserver"), (b"cookie", f"sessionid={self.cookie}".encode())]
        scope = {
            "type": "http",
            "method": method,
            "path": address,
            "headers": headers,
            "query_string": b"",
            "server": ("testserver", 80),
        }
        communicator: Any = ApplicationCommunicator(get_asgi_application(), scope)  # type: ignore[no-untyped-call]
        await communicator.send_input({"type": "http.request", "body": b""})
        start = await communicator.receive_output(PATIENCE)
        body = await communicator.receive_output(PATIENCE)
        await communicator.wait(PATIENCE)
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], found, body["body"]


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch, checkout_sandbox: CheckoutSandbox) -> Site:
    """Put the page's views at addresses, without the check of forms, and log in."""
    module = ModuleType("shop_async_views")
    exec(block("docs/async.md", "# shop/async_views.py"), vars(module))
    urls = ModuleType("async_urls")
    views = vars(module)
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("buy/", views["buy_hat"]),
        path("hats/", views["my_hats"]),
        path("another/", another),
    ]
    monkeypatch.setitem(sys.modules, urls.__name__, urls)
    settings.ROOT_URLCONF = urls.__name__
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ]
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return Site(module=module, cookie=client.cookies["sessionid"].value)


def test_a_coroutine_sells_and_looks_again(site: Site, checkout_sandbox: CheckoutSandbox) -> None:
    """Sold, paid, asked for, and owned; each by a coroutine."""
    status, headers, _ = asyncio.run(site.ask("POST", "/buy/"))
    checkout = Checkout.objects.get()
    assert (status, headers["Location"]) == (302, checkout.payment_form_url)
    assert checkout.user == User.objects.get()
    assert json.loads(asyncio.run(site.ask("GET", "/hats/"))[2]) == {"hats": 0}
    checkout_sandbox.pay(checkout.order_id)
    assert async_to_sync(vars(site.module)["refreshed"])(checkout) == "paid"
    flows.run_due()
    assert json.loads(asyncio.run(site.ask("GET", "/hats/"))[2]) == {"hats": 1}


def test_the_event_loop_goes_on_while_the_service_is_slow(site: Site, settings: Any) -> None:
    """The call of the service ends only when the loop has served another request."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "HTTP_SESSION": f"{__name__}.slow_session",
    }

    async def both() -> list[int]:
        answers = await asyncio.gather(site.ask("POST", "/buy/"), site.ask("GET", "/another/"))
        return [status for status, _, _ in answers]

    assert asyncio.run(both()) == [302, 200]
    assert Checkout.objects.get().payment_form_url


def test_a_service_that_is_away_is_a_page(
    site: Site, checkout_sandbox: CheckoutSandbox, settings: Any
) -> None:
    """And no exception."""
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "CHECKOUT_URL": "http://127.0.0.1:9",
        "TIMEOUT": 1.0,
    }
    assert asyncio.run(site.ask("POST", "/buy/"))[0] == 503
