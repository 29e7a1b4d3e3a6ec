"""Requests from the service to the merchant: notifications with retries, user.validate, testing cases.

- `outbox`: the queue of notifications
- `delivery_with_retries`: the threads that send what is due, and try again
- `signed_request`: one signed request over a real socket
- `user_validation`: user.validate, before a payment
- `testing_cases`: the four testing cases
"""

from __future__ import annotations

from checkout_integration.sandbox.notify.delivery_with_retries import DeliveryThreads
from checkout_integration.sandbox.notify.outbox import Outbox, QueuedNotification
from checkout_integration.sandbox.notify.testing_cases import TestingCases, Trial
from checkout_integration.sandbox.notify.user_validation import Consent, UserValidation

__all__ = [
    "Consent",
    "DeliveryThreads",
    "Outbox",
    "QueuedNotification",
    "TestingCases",
    "Trial",
    "UserValidation",
]
