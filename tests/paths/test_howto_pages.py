"""Short pages of the documentation that answer one question each: what they show is done here."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from celery import Celery
from celery.bin.worker import worker
from django.core.management import call_command, get_commands, load_command_class
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from checkout_integration.models import Checkout
from checkout_integration.sandbox import Sandbox
from checkout_integration.schedule import beat_schedule
from tests.conf.test_two_projects import shop as two_projects
from tests.flows.conftest import listen
from tests.support.documents import block

__all__ = ["listen", "two_projects"]


def settings_of(source: str, setting: Mapping[str, Any]) -> dict[str, Any]:
    """Execute a page's settings after those of the shop; gives what they set."""
    names: dict[str, Any] = {
        "CHECKOUT_INTEGRATION": {
            **setting,
            "PROJECTS": {alias: dict(own) for alias, own in setting["PROJECTS"].items()},
        }
    }
    exec(source, names)
    return {name: value for name, value in names.items() if name.isupper()}


def parsed(command: str) -> dict[str, Any]:
    """Return the options of a command of ``manage.py`` as it reads them; SystemExit if it has no such option."""
    _, _, name, *words = shlex.split(command.removeprefix("$ "))
    known = load_command_class(get_commands()[name], name)
    return vars(known.create_parser("manage.py", name).parse_args(words))


def test_a_queue_of_its_own() -> None:
    """docs/celery.md: all tasks of the app wait there, those of the shop do not, and the command's worker takes them."""
    names: dict[str, Any] = {}
    exec(block("docs/celery.md", "# mysite/settings.py, a queue of its own"), names)
    app = Celery("shop", broker="memory://", set_as_current=False)
    app.conf.task_routes = names["CELERY_TASK_ROUTES"]

    def queue_of(task: str) -> str:
        return str(app.amqp.router.route({}, task)["queue"].name)

    ours = {entry["task"] for entry in beat_schedule().values()} | {"checkout_integration.sync_window"}
    assert {queue_of(task) for task in ours} == {"checkout"}
    assert queue_of("shop.invoices") == "celery"
    _, *words = shlex.split(
        block("docs/celery.md", "$ celery --app mysite worker --queues checkout --concurrency 4")
    )
    context = worker.make_context("worker", words[words.index("worker") + 1 :], resilient_parsing=True)
    assert (context.params["queues"], context.params["concurrency"]) == (["checkout"], 4)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            block("docs/celery.md", "$ python manage.py checkout_doctor --fail-on warning"),
            {"fail_on": "warning"},
        ),
        (
            block(
                "docs/tunnel.md",
                "$ python manage.py checkout_doctor --no-deploy --shop https://my-name.tunnel.example",
            ),
            {"deploy": False, "shop": "https://my-name.tunnel.example"},
        ),
    ],
)
def test_commands_have_their_options(command: str, expected: dict[str, Any]) -> None:
    """As the page writes them."""
    assert expected.items() <= parsed(command).items()


@pytest.mark.django_db
@pytest.mark.parametrize(("country", "alias"), [("DE", "eu"), ("US", "default")])
def test_a_shop_sells_by_region(two_projects: Sandbox, country: str, alias: str) -> None:
    """docs/several-projects.md: its function chooses the project."""
    names: dict[str, Any] = {}
    exec(block("docs/several-projects.md", "# shop/regions.py"), names)
    checkout: Checkout = names["sell_hat"](country)
    assert (checkout.project, bool(checkout.order_id)) == (alias, True)


def press(request: HttpRequest) -> HttpResponse:
    """Take a form."""
    return HttpResponse(f"{request.scheme}://{request.get_host()}")


urlpatterns = [path("press/", press)]


@pytest.mark.parametrize(
    ("forwarded", "needs"),
    [
        ({"x-forwarded-proto": "https"}, "SECURE_PROXY_SSL_HEADER"),
        ({}, "CSRF_TRUSTED_ORIGINS"),
    ],
    ids=["says https", "says nothing"],
)
def test_a_form_comes_through_a_tunnel(
    forwarded: dict[str, str], needs: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/tunnel.md: each kind of tunnel needs one of its settings; without it the host, or the form, is refused."""
    monkeypatch.setenv("TUNNEL_HOST", "my-name.tunnel.example")
    page = settings_of(
        block("docs/tunnel.md", "# mysite/settings.py, behind a tunnel"), settings.CHECKOUT_INTEGRATION
    )
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = __name__, ["localhost"]
    token = "a" * 32
    headers = {"origin": "https://my-name.tunnel.example", **forwarded}

    def pressed() -> int:
        # A new client loads the middleware anew, which remembers settings.
        client = Client(enforce_csrf_checks=True, HTTP_HOST="my-name.tunnel.example")
        client.cookies["csrftoken"] = token
        return client.post("/press/", {"csrfmiddlewaretoken": token}, headers=headers).status_code

    assert pressed() == 400
    settings.ALLOWED_HOSTS = page["ALLOWED_HOSTS"]
    assert pressed() == 403
    setattr(settings, needs, page[needs])
    assert pressed() == 200
    assert page["CHECKOUT_INTEGRATION"]["RETURN_URL"].endswith("/checkout/return/{reference}/")


@pytest.mark.django_db(transaction=True)
def test_an_upgrade_migrates_and_checks() -> None:
    """docs/upgrading.md: both commands, in a shop that is up to date."""
    for command in block("docs/upgrading.md", "$ python manage.py migrate").splitlines():
        _, _, _, *words = shlex.split(command)
        call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())
