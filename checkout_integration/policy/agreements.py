"""Until when a checkout is owned whose payments last for a time: a recurring agreement, or a pass for some days.

A pure function of the *set* of payments, as `fulfilment`: the order in which they became known does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from checkout_integration.policy.fulfilment import Payment
from checkout_integration.policy.moments import BEHIND_ALL_TIMES
from checkout_integration.protocol.values import parse_moment


def owned_until(payments: Iterable[Payment], days: int | None) -> datetime | None:
    """Return the end of what is paid for: so many days after the last payment that stands and pays.

    None for a checkout without an end, for one without such a payment, and where the time of one cannot be read: then nobody
    loses what was paid for.
    """
    moments = [payment.moment for payment in payments if payment.stands and payment.pays]
    if not days or not moments or BEHIND_ALL_TIMES in moments:
        return None
    last = parse_moment(max(moments))
    return last and last + timedelta(days=days)
