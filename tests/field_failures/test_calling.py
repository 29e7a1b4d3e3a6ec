"""Failures of calling the service."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.client import errors
from checkout_integration.models import Order
from checkout_integration.protocol.listing import TransactionFilter
from checkout_integration.sandbox import Sandbox
from tests.client.conftest import SECRET, MakeClient, client_of
from tests.support import old_ways
from tests.support.client.calls import PAGE
from tests.support.client.stub import http, running

__all__ = ["client_of"]


def test_requests_hands_the_secret_to_whom_a_redirect_names(client_of: MakeClient) -> None:
    """Any header but Authorization goes along to another host."""
    with running(http(200, PAGE)) as stranger, running(http(302, b"", Location=stranger.url)) as stub:
        old_ways.fetch(stub.url, SECRET)
        assert stranger.received[0].headers["x-api-signature"] == SECRET
        with pytest.raises(errors.RedirectRefused):
            client_of(stub).list_transactions(TransactionFilter())
        assert len(stranger.received) == 1


def test_requests_lets_netrc_replace_our_credentials(
    client_of: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file on the machine replaces our credentials (related: CVE-2024-47081)."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with running(http(200, PAGE)) as stub:
        old_ways.fetch(stub.url, SECRET)
        client_of(stub).list_transactions(TransactionFilter())
    old, ours = (request.headers["authorization"] for request in stub.received)
    assert old != "Basic ours"
    assert ours.startswith("Basic ") and ours != old


def test_requests_takes_half_an_answer_for_the_whole(client_of: MakeClient) -> None:
    """A compressed response that was cut short is read without an error, checksum and all."""
    cut = http(200, gzip.compress(PAGE, mtime=0)[:-8], Content_Encoding="gzip")
    with running(cut) as stub:
        assert old_ways.fetch(stub.url, SECRET)["count"] == 2
        with pytest.raises(errors.ResponseUnreadable):
            client_of(stub).list_transactions(TransactionFilter())


@pytest.mark.django_db
def test_posthog_64417_a_strict_watermark_misses_what_changes_later(checkout_sandbox: Sandbox) -> None:
    """The order was read while it was open; it is paid afterwards, and the notification is lost."""
    order = {"project": "test-project", "type": "simple", "currency": "USD", "description": "Gems"}
    made = checkout_sandbox.creation.create_order({**order, "amount": 9}, None)
    flows.sync.sync_transactions()
    checkout_sandbox.payments.pay(made.id)
    row: dict[str, Any] = {"id": made.id, "created_at": made.created_at.isoformat()}
    assert old_ways.newer_than([row], watermark=row["created_at"]) == []
    flows.sync.sync_transactions()
    assert Order.objects.get().status == "processed"
