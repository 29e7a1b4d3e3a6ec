"""Rates of the customer's REST interface, by scope; a shop sets them in REST framework's settings."""

from __future__ import annotations

from typing import Final

from rest_framework.settings import api_settings
from rest_framework.throttling import ScopedRateThrottle

READ: Final = "checkout_read"
SELL: Final = "checkout_sell"
SERVER: Final = "checkout_server"


class CheckoutRateThrottle(ScopedRateThrottle):
    """REST framework's throttle by scope: ``checkout_read``, ``checkout_sell``, ``checkout_server``.

    Their rates are in DEFAULT_THROTTLE_RATES.

    A scope without a rate is not limited. The views' attribute has a name of its own, so that a shop whose own views use
    scopes need not name ours.
    """

    scope_attr = "checkout_throttle_scope"

    def get_rate(self) -> str | None:
        """Return the rate of the scope as the settings are now; None without one."""
        rate = (api_settings.DEFAULT_THROTTLE_RATES or {}).get(self.scope or "")
        return None if rate is None else str(rate)
