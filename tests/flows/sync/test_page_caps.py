"""A service whose pages are shorter than requested."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from checkout_integration.flows.sync import sync_transactions
from checkout_integration.models import Order, SyncCursor, SyncRun
from tests.support.flows.list_service import list_service, listed

pytestmark = pytest.mark.django_db


@pytest.mark.spec("EP3-10")
def test_pages_of_two_rows_are_enough(settings: Any) -> None:
    """The limit was 100; each order is recorded."""
    with list_service(settings, *(listed(f"order-{number}", number) for number in range(7))) as service:
        service.cap = 2
        assert sync_transactions().state == "complete"
    assert Order.objects.count() == 7


def test_pages_of_one_row_fail_the_pass(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The command and the pass say why, and the watermark stays: the next pass begins where this one did."""
    with list_service(settings, listed("first"), listed("second", 1)) as service:
        service.cap = 1
        with pytest.raises(SystemExit, match="1"):
            call_command("checkout_sync")
    run = SyncRun.objects.get()
    assert (run.state, SyncCursor.objects.get().watermark) == ("failed", None)
    assert run.failure.startswith("The service gives one row per page, whatever the limit")
    assert run.failure in capsys.readouterr().out


def test_a_list_of_one_row_is_complete(settings: Any) -> None:
    """Even where the service would give no more than one."""
    with list_service(settings, listed("only")) as service:
        service.cap = 1
        assert sync_transactions().state == "complete"
    assert Order.objects.get().order_id == "only"
