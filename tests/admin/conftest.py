"""The shop's fixtures, and a member of staff in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from checkout_integration.testing.delivery import Deliver
from tests.flows.conftest import _not_installed, _nothing_refused, database_away, hooks, listen
from tests.support.admin import rows
from tests.support.admin.desk import Desk, enter
from tests.support.admin.sales import Sales

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["_not_installed", "_nothing_refused", "database_away", "hooks", "listen"]
OF_SUPPORT: Final = (
    *("view_order", "view_checkout", "view_checkoutuser", "view_notification", "view_receiverrun"),
    *("view_failedattempt", "view_health", "view_money", "view_personal_data", "check_order", "add_note"),
    *("change_receiverrun", "accept_payment", "bind_order", "apply_notification", "link_account"),
    *("erase_customer", "download_evidence"),
)


@pytest.fixture
def sell(checkout_deliver: Deliver) -> Sales:
    """Sell to a customer."""
    return Sales(checkout_deliver)


@pytest.fixture
def desk(page: Page, live_server: Any, settings: Any) -> Desk:
    """Sam of the support desk, at the index of the admin. A slow machine runs receivers within a request too."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "REQUEST_BUDGET": 10}
    enter(page.context, live_server.url, rows.make_staff(*OF_SUPPORT, name="sam"))
    return Desk(page, live_server.url)
