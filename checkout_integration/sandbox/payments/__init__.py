"""Changes of an order after its creation; each is stored together with its notification.

- `payments`: pay, decline, cancel, expire, resend; and the way to the other two
- `refunds`: refunds, in full or in parts, and chargebacks
- `renewals`: recurring agreements and their renewals
- `transitions`: what all of them share: read an order, change it, queue its notification
"""

from __future__ import annotations

from checkout_integration.sandbox.payments.payments import Outcome, PaymentDetails, Payments
from checkout_integration.sandbox.payments.renewals import Renewals, is_renewable
from checkout_integration.sandbox.payments.transitions import Transitions

__all__ = [
    "Outcome",
    "PaymentDetails",
    "Payments",
    "Renewals",
    "Transitions",
    "is_renewable",
]
