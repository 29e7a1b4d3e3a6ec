"""The two behaviours of the sandbox: `spec`, by the letter of the specification, and `field`, as services in the field do.

Each attribute is one point where the two differ, so that no other module compares the name of a profile. Its default is the
letter of the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One behaviour of the service.

    Attributes:
        name: `spec` or `field`.
        not_json_status: response to a body that is not JSON (SVC-08).
        bad_credentials_status: response of token and order creation to bad credentials (AUT-05).
        unknown_token_project_status: response of token creation to an unknown project (EP1-23).
        list_unknown_project_status: response of the list to an unknown login.
        framework_errors_short: errors of the framework have a message only.
        details_always: every error object has `details`, "" where there is nothing to add (ERR-03).
        unneeded_signature_checked: a signature is checked even where none is required (AUT-02, AUT-06).
        plain_arrays: the list reads `status=` and `project=` as well as the bracketed names (EP3-04, EP3-05).
        id_is_uuid: the list refuses an `id` that is no UUID (EP3-03).
        zero_limit_is_default: the list takes `limit=0` for no limit given (EP3-10).
        account_finds_parts: the list's `account` finds a part of several texts of the customer (EP3-06).
        reversal_is_second_item: refund and chargeback appear in the list as items with an id of their own; the status filter
            `processed` finds refunded originals too, and `refunded` finds the items of refunds only.
        chargeback_is_refund: the notification of a chargeback says `refunded` true, with a `refund` object; its list item
            says false (STA-07).
        success_status: `status` inside payment.success.
        listed_types: an order object has only the types that are listed for it: key, products, simple (ORD-35).
        zero_time: how "never" is written.
        empty_is_null: empty nested objects are written as null, and empty members of an address are left out; so are method,
            net revenue and fee of an order that nobody has paid yet (ORD-27 to ORD-29).
        decline_has_cancellation: a declined payment carries a filled `cancellation`.
        refusal_cancels: a refused user.validate cancels the order; without it the order stays `created` (EVT-02).
        unacknowledged_is_rejected: a payment whose notification was never acknowledged turns `rejected`.
        acknowledging: the statuses that acknowledge a notification (EVT-09).
        first_attempt: `delivery_try` of the first attempt of a payment notification (WHK-07).
        attempt_is_created_at: `created_at` of a notification is the time of the attempt, not of the event (WHK-05).
        event_ids: notifications of two refunds of one order have two ids, not one (WHK-01).
        breakdown_in_list: list rows carry `net_revenue` and `fee`.
        seller_tax_in_original: `original_amount` includes the VAT that a seller pays (ORD-33).
        receipt_numbers: receipts have a number (ORD-14, RFD-05); `refund_codes`: refunds have a code (RFD-04).
        user_in_orders_short: the user of an order has neither `object` nor the consent to a newsletter, which come with
            user.validate only.
        handler_in_notifications: notifications carry `method.handler`, not the list alone (MTH-05).
        platform_key: what an item calls the platform of its activation code.
        code_always: items carry code and platform always, "" when there is none (ITM-07, ITM-08).
        agreement_extras: orders carry identifiers of the recurring agreement's subscription and plan.
        item_extras: items carry amount, currency, url and times.
        whole_seconds: times have no fraction.
        total_count_is_boolean: `total_count` of a cursor list is a boolean, as LST-05 has it.
        token_locale_shortest: characters of a token's locale at least; the specification has no minimum (EP1-09).
        token_addresses_free: a token may have return addresses whatever the project's settings say (EP1-13).
        returns_prepared_orders: order creation with the identifier of an order returns that order (EP2-14).
        test_object_bare: the object of a testing case has no status, no name of its kind and no times.
    """

    name: str = "spec"
    not_json_status: int = 406
    bad_credentials_status: int = 401
    unknown_token_project_status: int = 404
    list_unknown_project_status: int = 401
    framework_errors_short: bool = False
    details_always: bool = True
    unneeded_signature_checked: bool = True
    plain_arrays: bool = True
    id_is_uuid: bool = False
    zero_limit_is_default: bool = False
    account_finds_parts: bool = False
    reversal_is_second_item: bool = False
    chargeback_is_refund: bool = False
    success_status: str = "processed"
    listed_types: bool = True
    zero_time: str = ""
    empty_is_null: bool = False
    decline_has_cancellation: bool = False
    refusal_cancels: bool = True
    unacknowledged_is_rejected: bool = False
    acknowledging: frozenset[int] = frozenset({200})
    first_attempt: int = 1
    attempt_is_created_at: bool = False
    event_ids: bool = True
    breakdown_in_list: bool = True
    seller_tax_in_original: bool = False
    receipt_numbers: bool = True
    refund_codes: bool = True
    user_in_orders_short: bool = False
    handler_in_notifications: bool = False
    platform_key: str = "platform"
    code_always: bool = False
    agreement_extras: bool = False
    item_extras: bool = False
    whole_seconds: bool = True
    total_count_is_boolean: bool = True
    token_locale_shortest: int = 1
    token_addresses_free: bool = True
    returns_prepared_orders: bool = False
    test_object_bare: bool = False

    def moment(self, now: datetime) -> datetime:
        """Return a time as this profile writes it: in whole seconds where it writes no fractions."""
        return now.replace(microsecond=0) if self.whole_seconds else now


FIELD: Final = Profile(
    name="field",
    not_json_status=400,
    bad_credentials_status=400,
    unknown_token_project_status=400,
    list_unknown_project_status=500,
    framework_errors_short=True,
    details_always=False,
    unneeded_signature_checked=False,
    plain_arrays=False,
    id_is_uuid=True,
    zero_limit_is_default=True,
    account_finds_parts=True,
    reversal_is_second_item=True,
    chargeback_is_refund=True,
    success_status="created",
    listed_types=False,
    zero_time="0001-01-01T00:00:00Z",
    empty_is_null=True,
    decline_has_cancellation=True,
    refusal_cancels=False,
    unacknowledged_is_rejected=True,
    acknowledging=frozenset({200, 204}),
    first_attempt=0,
    attempt_is_created_at=True,
    event_ids=False,
    breakdown_in_list=False,
    seller_tax_in_original=True,
    receipt_numbers=False,
    refund_codes=False,
    user_in_orders_short=True,
    handler_in_notifications=True,
    platform_key="platform_id",
    code_always=True,
    agreement_extras=True,
    item_extras=True,
    whole_seconds=False,
    total_count_is_boolean=False,
    token_locale_shortest=5,
    token_addresses_free=False,
    returns_prepared_orders=True,
    test_object_bare=True,
)

SPEC: Final = Profile()
_PROFILES: Final = {FIELD.name: FIELD, SPEC.name: SPEC}


def find_profile(name: str) -> Profile:
    """Return the profile of that name.

    Raises:
        ValueError: when there is none.
    """
    try:
        return _PROFILES[name]
    except KeyError:
        raise ValueError(f"profile must be one of {', '.join(sorted(_PROFILES))}, not {name!r}") from None
