"""Reasons of verdicts and kinds of incidents in plain words: a few for a list, a sentence for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy as _

from checkout_integration.admin.site.labels import Text
from checkout_integration.policy.fulfilment import PAID_TWICE
from checkout_integration.policy.verdict import Reason

REASONS: Final[Mapping[str, tuple[Text, Text]]] = {
    Reason.UNBOUND: (_("no checkout"), _("The payment matches no checkout of this shop.")),
    Reason.BEFORE_INSTALLATION: (
        _("before the installation"),
        _("The payment matches no checkout, and its order was created before this app was installed."),
    ),
    Reason.RECEIVERS_RENAMED: (
        _("code of the shop renamed"),
        _(
            "No code has the name of the code that granted the goods, so they were not revoked. If it was renamed, its new "
            "place says so (formerly), and then it runs again. Else revoke them by hand."
        ),
    ),
    Reason.TYPE: (_("another kind of sale"), _("The order is of another type than the checkout.")),
    Reason.MODE: (
        _("test or live"),
        _("A live checkout accepts only live payments, a test checkout only test payments."),
    ),
    Reason.TESTING_CASE: (_("testing case"), _("This is a testing case of the service, not a payment.")),
    Reason.CURRENCY: (_("other currency"), _("The payment is in another currency than the checkout.")),
    Reason.AMOUNT: (_("other amount"), _("The amount differs from the checkout's.")),
    Reason.CHARGE: (_("charged less"), _("The customer was charged less than the price of the checkout.")),
    Reason.NO_ITEMS: (_("no items"), _("The service did not say which items were bought.")),
    Reason.PRODUCTS: (_("other items"), _("The items bought are not those of the checkout.")),
    Reason.VIRTUAL_CURRENCY: (
        _("other virtual currency"),
        _("The virtual currency bought is not that of the checkout."),
    ),
    Reason.CONFLICT: (
        _("conflicting values"),
        _("The service sent two different amounts or currencies for this payment."),
    ),
    Reason.BLOCKED: (
        _("blocked customer"),
        _("Staff have blocked the customer. Accept the payment, or refund it at the service."),
    ),
    PAID_TWICE: (_("paid twice"), _("Another order has already paid this checkout.")),
    Reason.BY_SETTING: (
        _("by setting"),
        _("The setting UNBOUND_ORDERS accepts payments without a checkout."),
    ),
    Reason.BY_STAFF: (_("by staff"), _("A member of staff has decided it.")),
}
"""The reasons of verdicts: in two words for the list, in a sentence for the page."""

INCIDENTS: Final[Mapping[str, tuple[Text, Text]]] = {
    "paid_and_canceled": (
        _("paid and cancelled"),
        _("The service reported both a payment and its cancellation. Ask the service whether money moved."),
    ),
    "listed_canceled_though_paid": (
        _("paid, listed as cancelled"),
        _(
            "The transaction list shows a paid order as cancelled or declined, but no signed notification says so. It stays "
            "paid here."
        ),
    ),
    "double_loss": (
        _("refunded and charged back"),
        _("The payment was both refunded and charged back: the money may have been lost twice."),
    ),
    "reversal_after_decision": (
        _("reversed after a decision"),
        _("The payment was refunded or charged back after staff accepted it. The goods were not revoked."),
    ),
    "reversal_undone": (
        _("reversal undone?"),
        _(
            "The payment was reversed here, but the transaction list has shown it as paid for more than a day: perhaps a "
            "dispute was won. If so, restore the payment; its goods are granted again."
        ),
    ),
    "refund_currency": (
        _("refund in another currency"),
        _(
            "The refund is in a currency in which the customer did not pay. It counts as a full refund: the goods were "
            "revoked. Ask the service how much was refunded."
        ),
    ),
    "refund_mixed": (
        _("refunded in two currencies"),
        _(
            "Parts were refunded in the currency of the price and in that of the charge. Nobody can say whether all of it "
            "was refunded, so the goods were not revoked. If it was, revoke them by hand."
        ),
    ),
    "refund_amount": (
        _("refund of nothing"),
        _(
            "The service reported a refund of zero or of a negative amount. It counts in no sum, and the goods were not "
            "revoked. Ask the service whether money moved."
        ),
    ),
    "refund_exceeded": (
        _("refunded more than paid"),
        _("More was refunded than the customer had paid. Ask the service why."),
    ),
    "negative_charge": (
        _("negative charge"),
        _(
            "The service says that the customer was charged a negative amount. Ask the service whether money moved."
        ),
    ),
    "zero_charge": (
        _("nothing charged"),
        _("The service says that the customer was charged nothing. Ask the service whether money moved."),
    ),
    "listed_rejected_with_transaction": (
        _("declined with a transaction"),
        _(
            "The transaction list shows the order as declined, but with a transaction and without a reason: it may be paid."
        ),
    ),
    "conflict": (
        _("conflicting values"),
        _("The service sent two values of a field that does not change; the earlier one is used."),
    ),
    "inexact": (
        _("inexact amount"),
        _(
            "The service sent an amount with more digits or decimal places than its currency or the database column allows. "
            "The order's document has the exact amount. The column has a rounded amount, or none if it is too large."
        ),
    ),
    "review": (
        _("payment in review"),
        _("No goods are granted for this payment until staff have looked at it."),
    ),
    "unknown_status": (
        _("unknown status"),
        _(
            "The service sent a status that its specification does not list. The order's status was not changed."
        ),
    ),
    "unknown_event": (
        _("unknown event"),
        _("The service sent an event that its specification does not list. The notification is stored."),
    ),
    "unreadable": (
        _("not read in full"),
        _(
            "The service sent a number of more than 40 digits or with an exponent beyond 20, and this field is empty; or a "
            "text that is not UTF-8, and “�” stands for what is no character. The other fields were read. A notification has "
            "the bytes as they were sent."
        ),
    ),
    "refused_content": (
        _("breaks a rule"),
        _("A signed notification breaks a rule. It is stored, but not applied. Staff can apply it later."),
    ),
    "not_applied": (
        _("not applied"),
        _("The code failed on this notification. It is stored and can be applied again."),
    ),
}
"""Kinds of incidents, by the whole kind or the part before its colon: in a few words, and in a sentence."""


def reason_label(code: str) -> Text:
    """Return the reason of a verdict in two words."""
    return REASONS.get(code, (code, code))[0]


def reason_sentence(code: str) -> Text:
    """Return the reason of a verdict in a sentence."""
    return REASONS.get(code, (code, code))[1]


def incident_label(kind: str) -> Text:
    """Return the kind of an incident in a few words, with the field or the reason that it is about."""
    name, _colon, about = kind.partition(":")
    text = INCIDENTS.get(name, (kind, kind))[0]
    if name == "review":
        about = str(reason_label(about) if about in REASONS else incident_label(about))
    return f"{text}: {about}" if about and name in INCIDENTS else text


def incident_sentence(kind: str) -> Text:
    """Return the kind of an incident in a sentence; one in review says why."""
    name, _colon, about = kind.partition(":")
    if name == "review" and about:
        return reason_sentence(about) if about in REASONS else incident_sentence(about)
    return INCIDENTS.get(name, ("", ""))[1]
