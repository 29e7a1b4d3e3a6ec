"""State after a restart, and refusals at the start."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from checkout_integration.sandbox import SandboxProject
from tests.support.sandbox.receiver import Receiver
from tests.support.sandbox.service import NOON, Service, running


def test_a_restart_keeps_orders_messages_and_clock(tmp_path: Path) -> None:
    """With a state file the waiting retry goes out after the restart, with the next delivery_try."""
    state = tmp_path / "state"
    with running(state=state) as before:
        before.receiver.answers = [500]
        order_id = before.paid(metadata={"reference": "r"})
        token = before.token({"type": "simple", "amount": 1, "currency": "USD"}).json()["token"]
        before.advance(60)
        (waiting,) = before.sandbox.outbox.of_order(order_id)
    with running(state=state) as after:
        assert after.sandbox.clock.now() == NOON + timedelta(seconds=60)
        assert after.listed_ids(("invoice_id", "r")) == [order_id]
        assert after.post("/api/v1/order", {"token": token}).status_code == 200
        assert after.sandbox.outbox.of_order(order_id) == [waiting]
        after.advance(540)
        (tried,) = after.sandbox.outbox.of_order(order_id)
    assert (waiting.delivery_try, tried.delivery_try) == (1, 2)


@pytest.mark.spec("EVT-10")
def test_a_message_in_work_is_sent_after_a_restart(tmp_path: Path) -> None:
    """A process that dies while sending leaves the message to the next one."""
    state = tmp_path / "state"
    with Receiver() as merchant:
        with running(state=state, webhook_url=merchant.url) as before:
            before.sandbox.stop()
            before.sandbox.payments.pay(before.order_id())
            assert before.sandbox.outbox.claim(NOON) is not None
        with running(state=state, webhook_url=merchant.url) as after:
            after.settle()
        assert merchant.events == ["payment.success"]


def test_memory_forgets(field: Service) -> None:
    """Without a file nothing is shared between two sandboxes."""
    field.order_id()
    with running() as other:
        assert other.listed_ids() == []


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"secret_key": "a-real-secret"}, "sandbox_"),
        ({"secret_key": ""}, "sandbox_"),
        ({"webhook_url": "https://shop.example/hook"}, "loopback"),
        ({"webhook_url": "http://127.0.0.1.example/hook"}, "loopback"),
        ({"webhook_url": "file:///etc/passwd"}, "loopback"),
        ({"mode": "sometimes"}, "sometimes"),
    ],
)
def test_a_dangerous_project_is_refused(settings: dict[str, Any], word: str) -> None:
    """A secret without the sandbox's prefix, or an address off this machine, ends the start."""
    with pytest.raises(ValueError, match=word):
        SandboxProject(**{"project_id": "p", "secret_key": "sandbox_s", **settings})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/", "http://localhost/", "http://[::1]/", "http://shop.localhost/"]
)
def test_the_loopback_is_welcome(url: str) -> None:
    """Every name of this machine will do."""
    assert SandboxProject(project_id="p", secret_key="sandbox_s", webhook_url=url).webhook_url == url


def test_the_guards_can_be_lifted() -> None:
    """With the option, the sandbox accepts any secret and address."""
    project = SandboxProject(
        project_id="p",
        secret_key="s",
        webhook_url="https://shop.example/",
        unsafe_allow_any_secret=True,
        unsafe_allow_any_webhook=True,
    )
    assert "'s'" not in repr(project)
