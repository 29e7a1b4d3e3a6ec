"""docs/game-servers.md: a shop whose goods a game server fetches, over real sockets."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
import requests
from django.contrib.auth.models import User
from django.core.management import call_command

from checkout_integration import checks, flows
from checkout_integration.models import Checkout, Grant, OutboxMessage, Receiver, ReceiverRun
from checkout_integration.sandbox import Sandbox
from tests.support.admin import rows
from tests.support.documents import block

TOKEN = "the-token-of-the-game-servers"


@pytest.fixture
def shop(live_server: Any, checkout_sandbox: Sandbox, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page's class, in a game whose shop has the page's settings and addresses."""
    monkeypatch.setenv("CHECKOUT_SERVER_TOKEN", TOKEN)
    setting = settings.CHECKOUT_INTEGRATION
    names: dict[str, Any] = {
        "CHECKOUT_INTEGRATION": {
            **setting,
            "PROJECTS": {alias: dict(own) for alias, own in setting["PROJECTS"].items()},
        }
    }
    exec(block("docs/game-servers.md", "# settings.py, game servers"), names)
    settings.CHECKOUT_INTEGRATION = names["CHECKOUT_INTEGRATION"]
    page: dict[str, Any] = {}
    exec(block("docs/game-servers.md", "# mysite/urls.py, game servers"), page)
    urls = ModuleType("mysite_of_game_servers")
    urls.urlpatterns = page["urlpatterns"]  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, urls.__name__, urls)
    settings.ROOT_URLCONF = urls.__name__
    game = ModuleType("game.shop")
    exec(block("docs/game-servers.md", "# game/shop.py"), vars(game))
    return vars(game)["Shop"](f"{live_server.url}/api/server", TOKEN)


@pytest.mark.django_db(transaction=True)
def test_a_game_server_delivers_what_was_paid(
    shop: Any, live_server: Any, checkout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written as the page says: bought, fetched, delivered once, owned, and not owned after the refund."""
    assert "checkout_integration.W001" not in {each.id for each in checks.check_receivers(None)}

    ada = User.objects.create_user("ada")
    checkout = flows.create_checkout(type="product", products=["sword"], user=ada)
    delivered: list[tuple[str, list[str]]] = []

    def take(grant: Any) -> None:
        raise AssertionError(grant)

    def give(grant: Any) -> None:
        assert (grant["renewal"], grant["number"]) == (False, 1)
        delivered.append((grant["key"], grant["checkout"]["products"]))

    shop.deliver(str(ada.pk), give, take)
    assert (shop.owns(str(ada.pk), "sword"), delivered) == (False, [])
    service = checkout_sandbox
    service.payments.pay(checkout.order_id)
    call_command("checkout_sync", "--lane", "recent")
    for _ in range(2):
        shop.deliver(str(ada.pk), give, take)
    assert delivered == [(Grant.objects.get().key, ["sword"])]
    assert shop.owns(str(ada.pk), "sword") and not shop.owns(str(ada.pk), "shield")
    curl = block(
        "docs/game-servers.md",
        '$ curl -H "Authorization: Bearer $CHECKOUT_SERVER_TOKEN" '
        '"http://127.0.0.1:8000/api/server/owned/?external_id=17"',
    ).replace("$CHECKOUT_SERVER_TOKEN", TOKEN)
    header, address = shlex.split(
        curl.replace("http://127.0.0.1:8000", live_server.url).replace("=17", f"={ada.pk}")
    )[3:]
    answer = requests.get(address, headers=dict([header.split(": ")]), timeout=5)
    assert [each["products"] for each in answer.json()["data"]] == [["sword"]]
    # More than a page of passes, each acknowledged; what has ended is not given.
    monkeypatch.setattr("checkout_integration.api.pagination.DEFAULT_LIMIT", 1)
    passes = [
        flows.create_checkout(type="product", products=[name], user=ada, lasts_days=33)
        for name in ("spring", "summer", "autumn")
    ]
    for each in passes:
        service.payments.pay(each.order_id)
    call_command("checkout_sync", "--lane", "recent")
    Checkout.objects.filter(pk=passes[0].pk).update(owned_until=datetime.now(UTC))
    for _ in range(2):
        shop.deliver(str(ada.pk), give, take)
    assert sorted(products for _, products in delivered) == [["autumn"], ["summer"], ["sword"]]
    assert not Grant.objects.filter(acknowledged_at=None).exists()
    service.payments.refund(checkout.order_id)
    call_command("checkout_sync", "--lane", "recent")
    assert not shop.owns(str(ada.pk), "sword")
    assert OutboxMessage.objects.filter(signal="checkout_reversed").count() == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_refunded_while_it_is_given_is_taken_back(shop: Any, checkout_sandbox: Sandbox) -> None:
    """By the game: no receiver runs for goods that nobody acknowledged. The others are delivered all the same."""
    ada, names = User.objects.create_user("ada"), ["sword", "shield"]
    sold = [flows.create_checkout(type="product", products=[name], user=ada) for name in names]
    for each in sold:
        checkout_sandbox.payments.pay(each.order_id)
    call_command("checkout_sync", "--lane", "recent")
    owned: list[str] = []

    def give(grant: Any) -> None:
        owned.extend(grant["checkout"]["products"])
        if grant["checkout"]["products"] == ["shield"]:
            checkout_sandbox.payments.refund(sold[1].order_id)
            call_command("checkout_sync", "--lane", "recent")

    shop.deliver(str(ada.pk), give, lambda grant: owned.remove(*grant["checkout"]["products"]))
    assert owned == ["sword"]


@pytest.mark.django_db(transaction=True)
def test_a_game_that_died_before_it_acknowledged_takes_back_what_was_refunded(
    shop: Any, checkout_sandbox: Sandbox
) -> None:
    """The grant is not listed any more; the game asks by what it has recorded, and is told once."""
    ada = User.objects.create_user("ada")
    sold = flows.create_checkout(type="product", products=["axe"], user=ada)
    checkout_sandbox.payments.pay(sold.order_id)
    call_command("checkout_sync", "--lane", "recent")
    recorded: list[Any] = []

    def give_and_die(grant: Any) -> None:
        recorded.append(grant)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        shop.deliver(str(ada.pk), give_and_die, recorded.remove)
    checkout_sandbox.payments.refund(sold.order_id)
    call_command("checkout_sync", "--lane", "recent")
    shop.deliver(str(ada.pk), give_and_die, recorded.remove)
    assert len(recorded) == 1, "nothing is listed"
    for grant in recorded:
        shop.acknowledge(grant, recorded.remove)
    assert recorded == []


@pytest.mark.django_db
def test_receivers_and_what_undid_them_are_retired() -> None:
    """By the page's commands: their runs wait for no process any more."""
    commands = block(
        "docs/game-servers.md",
        "$ python manage.py checkout_replay --receiver shop.receivers.deliver --retire",
    )
    order = rows.make_order()
    seen = datetime.now(UTC) - timedelta(hours=1)
    for signal, name in (("checkout_paid", "deliver"), ("checkout_reversed", "revoke")):
        receiver = f"shop.receivers.{name}"
        Receiver.objects.create(signal=signal, name=receiver, first_seen=seen, last_seen=seen)
        rows.make_run(order, receiver=receiver, signal=signal, state="unknown", finished_at=None)
    for line in commands.splitlines():
        call_command(*shlex.split(line)[3:])
    assert {each.state for each in ReceiverRun.objects.all()} == {"superseded"}
