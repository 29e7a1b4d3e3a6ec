"""Every text column, and its fate when a customer is erased. A test compares the lists with the models."""

from __future__ import annotations

from typing import Final

ERASED: Final = frozenset(
    """
    Checkout.metadata Checkout.payment_form_url Checkout.identity Checkout.idempotency_key
    Checkout.utm_source Checkout.utm_medium Checkout.utm_campaign Checkout.referrer_host
    CheckoutUser.external_id CheckoutUser.user_id CheckoutUser.validated
    Notification.body
    Order.utm_source Order.utm_medium Order.utm_campaign Order.referrer_host
    PersonalData.document PersonalData.refund_receipts PersonalData.email PersonalData.last4
    StaffAct.reason
    Refund.reason
    Transition.reason
    ValidationDecision.external_id ValidationDecision.reason
    """.split()
)
"""Told by the customer, of the customer, or written by staff or hooks in their own words: emptied."""

REDUCED: Final = frozenset("Order.document Order.stamps Refund.document CheckoutUser.identity".split())
"""Only what the books need is left of it (`policy.personal.lasting`); the identity becomes a keyed hash."""

BOOKS: Final = frozenset(
    """
    Checkout.reference Checkout.type Checkout.currency Checkout.products Checkout.platform_id Checkout.description
    Checkout.subject_id Checkout.order_id
    Order.order_id Order.transaction Order.type Order.country Order.receipt_number Order.recurring_id Order.currency
    Order.charge_currency Order.tax_currency Order.fee_currency Order.net_revenue_currency Order.refund_currency
    Order.method_type Order.vat_payer Order.product
    OrderItem.item_id OrderItem.sku OrderItem.name
    OrderItem.code OrderItem.platform
    Refund.document_id Refund.transaction Refund.currency Refund.code Refund.receipt_number
    Notification.notification_id Notification.object_id
    SyncDifference.order_id SyncDifference.here SyncDifference.there
    """.split()
)
"""What was sold, for how much, and under which number: kept. (``object_id`` of a user.validate names a person: emptied.)"""

OURS: Final = frozenset(
    """
    Checkout.project Checkout.status Checkout.failure
    CheckoutUser.project
    Order.project Order.status Order.verdict Order.verdict_reason Order.facts Order.conflicts
    Refund.key Refund.project Refund.status
    Transition.from_status Transition.to_status Transition.source Transition.act
    Incident.key Incident.kind Incident.project Incident.detail
    Notification.key Notification.body_hash Notification.reference Notification.project Notification.event
    Notification.state Notification.failure RefusedRequests.key RefusedRequests.project RefusedRequests.code
    ValidationDecision.project ValidationDecision.code ValidationDecision.request_hash
    ValidationDecision.decided_by ValidationDecision.failure
    OutboxMessage.idempotency_key OutboxMessage.signal OutboxMessage.project OutboxMessage.arguments OutboxMessage.state
    Grant.key Grant.project Grant.state Grant.begun Grant.completed
    Receiver.signal Receiver.name Receiver.names Receiver.undoes Receiver.paused_for
    ReceiverRun.receiver ReceiverRun.state ReceiverRun.fence ReceiverRun.line ReceiverRun.exclusive
    ReceiverRun.error ReceiverRun.postponed_for
    FailedAttempt.error FailedAttempt.traceback
    SyncRun.project SyncRun.lane SyncRun.state SyncRun.failure SyncRun.totals
    SyncWindow.state SyncWindow.failure SyncWindow.totals
    SyncDifference.project SyncDifference.kind SyncDifference.state SyncDifference.waiting_key
    ListedRow.key ListedRow.row_hash SyncCursor.project SyncCursor.lane
    HostClock.host Alert.kind Alert.severity
    Installation.project
    StaffAct.project StaffAct.act StaffAct.origin StaffAct.counts StaffAct.receiver StaffAct.detail
    StaffAct.system_user Incident.system_user Transition.system_user
    """.split()
)
"""Words, codes, hashes and times that we write: they never hold what a customer said."""
