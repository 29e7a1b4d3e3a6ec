"""openapi.yaml has each field and parameter of the specification, under its name and with its type."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import jsonschema_rs
import pytest

from checkout_integration.protocol import vocabulary
from tests.support.sandbox.openapi_description import read_description


@cache
def described() -> dict[str, Any]:
    """Return the description as written, which no test changes."""
    return read_description()


@cache
def known_schemas() -> jsonschema_rs.Registry:
    """Return its schemas, for references."""
    return jsonschema_rs.Registry([("urn:openapi", described())], draft=jsonschema_rs.Draft202012)


@pytest.mark.parametrize(
    ("where", "name", "allowed", "refused"),
    [
        pytest.param(
            "TokenRequest", "user", [{"id": "player-1"}], ["a", 5], marks=pytest.mark.spec("EP1-03")
        ),
        pytest.param(
            "TokenRequest",
            "settings",
            [{"project_id": "p-1", "type": "simple", "amount": 9.99, "currency": "EUR"}],
            ["a", {}, True],
            marks=pytest.mark.spec("EP1-11"),
        ),
        pytest.param("TokenUser", "id", ["a"], [5, True], marks=pytest.mark.spec("EP1-04")),
        pytest.param(
            "TokenUser",
            "email",
            [{"value": "a@mail.example"}],
            ["a", 5, {"value": 5}],
            marks=pytest.mark.spec("EP1-05"),
        ),
        pytest.param(
            "TokenUser",
            "phone",
            [{"value": "+4930123"}],
            ["a", 5, {"value": 5}],
            marks=pytest.mark.spec("EP1-06"),
        ),
        pytest.param(
            "TokenUser", "name", [{"value": "Ada"}], ["a", 5, {"value": 5}], marks=pytest.mark.spec("EP1-07")
        ),
        pytest.param(
            "TokenUser",
            "ip",
            [{"value": "192.0.2.7"}],
            ["a", 5, {"value": "here"}],
            marks=pytest.mark.spec("EP1-08"),
        ),
        pytest.param(
            "TokenUser",
            "locale",
            [{"value": "en-GB"}],
            ["a", 5, {"value": 5}],
            marks=pytest.mark.spec("EP1-09"),
        ),
        pytest.param(
            "TokenUser",
            "address",
            [{"country": "DE"}],
            ["DE", {"country": "Germany"}],
            marks=pytest.mark.spec("EP1-10"),
        ),
        pytest.param("TokenSettings", "project_id", ["a"], [5, True], marks=pytest.mark.spec("EP1-12")),
        pytest.param(
            "TokenSettings",
            "return_url",
            [{"success": "https://shop.example/", "fail": "https://shop.example/"}],
            ["https://shop.example/", {"success": 5}],
            marks=pytest.mark.spec("EP1-13"),
        ),
        pytest.param(
            "TokenSettings", "currency", ["EUR"], ["eur", "EURO", 5], marks=pytest.mark.spec("EP1-14")
        ),
        pytest.param("TokenSettings", "amount", [9.99], ["9.99", -1, 0], marks=pytest.mark.spec("EP1-15")),
        pytest.param("TokenSettings", "description", ["a"], [5, True], marks=pytest.mark.spec("EP1-16")),
        pytest.param(
            "TokenSettings", "products_ids", [["hat", "coat"]], ["hat", [5]], marks=pytest.mark.spec("EP1-17")
        ),
        pytest.param(
            "TokenSettings",
            "platform_id",
            ["steam", "gog", "uplay", "origin", "psn", "xbox", "nintendo", "itch", "egs"],
            ["moon", 5],
            marks=pytest.mark.spec("EP1-18"),
        ),
        pytest.param(
            "TokenSettings",
            "type",
            ["key", "product", "virtual_currency", "simple"],
            ["gift", 5],
            marks=pytest.mark.spec("EP1-19", "SVC-03"),
        ),
        pytest.param(
            "TokenSettings",
            "is_buy_for_virtual_currency",
            [True, False],
            ["true", 1],
            marks=pytest.mark.spec("EP1-20"),
        ),
        pytest.param(
            "TokenSettings",
            "button_caption",
            ["Pay", "xxxxxxxxxxxxxxxxxx"],
            ["xxxxxxxxxxxxxxxxxxx", 5],
            marks=pytest.mark.spec("EP1-21"),
        ),
        pytest.param(
            "TokenSettings", "metadata", [{"a": "b"}], ["a", {"a": 5}], marks=pytest.mark.spec("EP1-22")
        ),
        pytest.param("Token", "token", ["a"], [5, True], marks=pytest.mark.spec("TOK-01")),
        pytest.param(
            "Token",
            "payment_form_url",
            ["https://pay.example/form"],
            [5, "no address"],
            marks=pytest.mark.spec("TOK-02"),
        ),
        pytest.param("OrderRequest", "project", ["a"], [5, True], marks=pytest.mark.spec("EP2-03")),
        pytest.param("OrderRequest", "amount", [9.99], ["9.99", -1, 0], marks=pytest.mark.spec("EP2-04")),
        pytest.param(
            "OrderRequest", "currency", ["EUR"], ["eur", "EURO", 5], marks=pytest.mark.spec("EP2-05")
        ),
        pytest.param("OrderRequest", "account", ["a"], [5, True], marks=pytest.mark.spec("EP2-06")),
        pytest.param("OrderRequest", "description", ["a"], [5, True], marks=pytest.mark.spec("EP2-07")),
        pytest.param(
            "OrderRequest", "metadata", [{"a": "b"}], ["a", {"a": 5}], marks=pytest.mark.spec("EP2-08")
        ),
        pytest.param(
            "OrderRequest",
            "url_success",
            ["https://shop.example/back"],
            ["ftp://shop.example", 5],
            marks=pytest.mark.spec("EP2-09"),
        ),
        pytest.param(
            "OrderRequest",
            "url_fail",
            ["https://shop.example/back"],
            ["ftp://shop.example", 5],
            marks=pytest.mark.spec("EP2-10"),
        ),
        pytest.param(
            "OrderRequest",
            "products",
            [["hat", "coat"]],
            ["hat", [5]],
            marks=pytest.mark.spec("EP2-11", "RFD-07"),
        ),
        pytest.param("OrderRequest", "token", ["a"], [5, True], marks=pytest.mark.spec("EP2-12", "EP1-24")),
        pytest.param("OrderRequest", "user", [{}], ["a", 5], marks=pytest.mark.spec("EP2-13", "AUT-02")),
        pytest.param("OrderRequest", "order", ["a"], [5, True], marks=pytest.mark.spec("EP2-14")),
        pytest.param(
            "OrderRequest",
            "type",
            ["key", "product", "virtual_currency", "simple"],
            ["gift", 5],
            marks=pytest.mark.spec("EP2-15", "SVC-03"),
        ),
        pytest.param(
            "OrderRequest",
            "platform_id",
            ["steam", "gog", "uplay", "origin", "psn", "xbox", "nintendo", "itch", "egs"],
            ["moon", 5],
            marks=pytest.mark.spec("EP2-16"),
        ),
        pytest.param("Error", "code", ["a"], [5, True], marks=pytest.mark.spec("ERR-01")),
        pytest.param("Error", "message", ["a"], [5, True], marks=pytest.mark.spec("ERR-02")),
        pytest.param("Error", "details", ["a"], [5, True], marks=pytest.mark.spec("ERR-03")),
        pytest.param("Order", "id", ["a"], [5, True], marks=pytest.mark.spec("ORD-01")),
        pytest.param("Order", "transaction", ["a"], [5, True], marks=pytest.mark.spec("ORD-02")),
        pytest.param("Order", "object", ["order"], ["user", 5], marks=pytest.mark.spec("ORD-03")),
        pytest.param(
            "Order",
            "status",
            ["created", "processed", "rejected", "canceled", "refunded", "chargeback", "pending"],
            ["paid", 5],
            marks=pytest.mark.spec("ORD-04", "STA-01", "STA-09"),
        ),
        pytest.param("Order", "description", ["a"], [5, True], marks=pytest.mark.spec("ORD-05")),
        pytest.param(
            "Order",
            "created_at",
            ["2026-03-04T12:00:00Z"],
            ["yesterday", 5],
            marks=pytest.mark.spec("ORD-06"),
        ),
        pytest.param("Order", "canceled", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-07")),
        pytest.param(
            "Order",
            "canceled_at",
            ["2026-03-04T12:00:00Z", ""],
            ["yesterday", 5],
            marks=pytest.mark.spec("ORD-08"),
        ),
        pytest.param(
            "Order",
            "cancellation",
            [{"code": "01", "reason": "a"}, None],
            ["a", {"code": 1, "reason": "a"}],
            marks=pytest.mark.spec("ORD-09"),
        ),
        pytest.param("Order", "refunded", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-10")),
        pytest.param(
            "Order",
            "refunded_at",
            ["2026-03-04T12:00:00Z", ""],
            ["yesterday", 5],
            marks=pytest.mark.spec("ORD-11"),
        ),
        pytest.param("Order", "receipt_email", ["a"], [5, True], marks=pytest.mark.spec("ORD-12")),
        pytest.param("Order", "receipt_phone", ["a"], [5, True], marks=pytest.mark.spec("ORD-13")),
        pytest.param("Order", "receipt_number", ["a"], [5, True], marks=pytest.mark.spec("ORD-14")),
        pytest.param("Order", "receipt_url", ["a"], [5, True], marks=pytest.mark.spec("ORD-15")),
        pytest.param("Order", "receipt_id", ["a"], [5, True], marks=pytest.mark.spec("ORD-16")),
        pytest.param("Order", "agreement_version", ["a"], [5, True], marks=pytest.mark.spec("ORD-17")),
        pytest.param(
            "Order", "agreement_accepted", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-18")
        ),
        pytest.param("Order", "notify_sale", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-19")),
        pytest.param("Order", "notify_sale_email", ["a"], [5, True], marks=pytest.mark.spec("ORD-20")),
        pytest.param("Order", "issuer", [None], ["a", 5], marks=pytest.mark.spec("ORD-21")),
        pytest.param("Order", "amount", [9.99], ["9.99", -1, 9.999], marks=pytest.mark.spec("ORD-22")),
        pytest.param("Order", "currency", ["EUR"], ["eur", "EURO", 5], marks=pytest.mark.spec("ORD-23")),
        pytest.param("Order", "user", [], ["a", 5], marks=pytest.mark.spec("ORD-24")),
        pytest.param("Order", "billing_address", [None], ["a", 5], marks=pytest.mark.spec("ORD-25")),
        pytest.param("Order", "tax", [], ["a", 5], marks=pytest.mark.spec("ORD-26")),
        pytest.param(
            "Order",
            "net_revenue",
            [{"amount": 9.5, "currency": "EUR"}],
            ["a", {"amount": "9.5", "currency": "EUR"}],
            marks=pytest.mark.spec("ORD-27"),
        ),
        pytest.param(
            "Order",
            "fee",
            [{"amount": 0.5, "currency": "EUR"}],
            ["a", {"amount": "0.5", "currency": "EUR"}],
            marks=pytest.mark.spec("ORD-28"),
        ),
        pytest.param("Order", "method", [], ["a", 5], marks=pytest.mark.spec("ORD-29")),
        pytest.param("Order", "items", [[], None], ["a", 5], marks=pytest.mark.spec("ORD-30")),
        pytest.param("Order", "refund", [None], ["a", 5], marks=pytest.mark.spec("ORD-31")),
        pytest.param("Order", "metadata", [{"a": "b"}], ["a", {"a": 5}], marks=pytest.mark.spec("ORD-32")),
        pytest.param(
            "Order", "original_amount", [9.99], ["9.99", -1, 9.999], marks=pytest.mark.spec("ORD-33")
        ),
        pytest.param("Order", "country", ["DE"], ["de", "Germany", 5], marks=pytest.mark.spec("ORD-34")),
        pytest.param(
            "Order",
            "type",
            ["key", "product", "virtual_currency", "simple"],
            ["gift", 5],
            marks=pytest.mark.spec("ORD-35"),
        ),
        pytest.param(
            "Order",
            "platform_id",
            ["steam", "gog", "uplay", "origin", "psn", "xbox", "nintendo", "itch", "egs"],
            ["moon", 5],
            marks=pytest.mark.spec("ORD-36"),
        ),
        pytest.param("Order", "virtual_currency_amount", [500], ["500"], marks=pytest.mark.spec("ORD-37")),
        pytest.param(
            "Order",
            "is_buy_for_virtual_currency",
            [True, False],
            ["true", 1],
            marks=pytest.mark.spec("ORD-38"),
        ),
        pytest.param(
            "Order", "charge_currency", ["EUR"], ["eur", "EURO", 5], marks=pytest.mark.spec("ORD-39")
        ),
        pytest.param("Order", "charge_amount", [9.99], ["9.99", -1, 9.999], marks=pytest.mark.spec("ORD-40")),
        pytest.param(
            "Order", "vat_payer", ["buyer", "seller", "nobody"], ["shop", 5], marks=pytest.mark.spec("ORD-41")
        ),
        pytest.param("Order", "is_production", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-42")),
        pytest.param(
            "Order",
            "testing_case",
            ["correct_payment", "non_existing_user", "existing_user", "invalid_signature"],
            ["another", 5],
            marks=pytest.mark.spec("ORD-43"),
        ),
        pytest.param(
            "Order",
            "form_mode",
            ["embed", "iframe", "standalone"],
            ["popup", 5],
            marks=pytest.mark.spec("ORD-44"),
        ),
        pytest.param("Order", "merchant_info", [], ["a", 5], marks=pytest.mark.spec("ORD-45")),
        pytest.param("Order", "recurring", [True, False], ["true", 1], marks=pytest.mark.spec("ORD-46")),
        pytest.param("Order", "recurring_id", ["a"], [5, True], marks=pytest.mark.spec("ORD-47")),
        pytest.param("User", "id", ["a"], [5, True], marks=pytest.mark.spec("USR-01")),
        pytest.param("User", "object", ["user"], ["order", 5], marks=pytest.mark.spec("USR-02")),
        pytest.param("User", "external_id", ["a"], [5, True], marks=pytest.mark.spec("USR-03")),
        pytest.param("User", "name", ["a"], [5, True], marks=pytest.mark.spec("USR-04")),
        pytest.param("User", "email", ["a"], [5, True], marks=pytest.mark.spec("USR-05")),
        pytest.param("User", "email_verified", [True, False], ["true", 1], marks=pytest.mark.spec("USR-06")),
        pytest.param("User", "phone", ["a"], [5, True], marks=pytest.mark.spec("USR-07")),
        pytest.param("User", "phone_verified", [True, False], ["true", 1], marks=pytest.mark.spec("USR-08")),
        pytest.param("User", "ip", ["a"], [5, True], marks=pytest.mark.spec("USR-09")),
        pytest.param("User", "locale", ["a"], [5, True], marks=pytest.mark.spec("USR-10")),
        pytest.param("User", "address", [None], ["a", 5], marks=pytest.mark.spec("USR-11")),
        pytest.param("User", "metadata", [{"a": "b"}], ["a", {"a": 5}], marks=pytest.mark.spec("USR-12")),
        pytest.param(
            "User", "notify_new_region", [True, False], ["true", 1], marks=pytest.mark.spec("USR-13")
        ),
        pytest.param("User", "notify_new_region_email", ["a"], [5, True], marks=pytest.mark.spec("USR-14")),
        pytest.param("Method", "title", ["a"], [5, True], marks=pytest.mark.spec("MTH-01")),
        pytest.param("Method", "external_id", ["a"], [5, True], marks=pytest.mark.spec("MTH-02")),
        pytest.param("Method", "payment_system_id", ["a"], [5, True], marks=pytest.mark.spec("MTH-03")),
        pytest.param("Method", "type", ["a"], [5, True], marks=pytest.mark.spec("MTH-04")),
        pytest.param("Method", "handler", ["a"], [5, True], marks=pytest.mark.spec("MTH-05")),
        pytest.param("Method", "saved", [True, False], ["true", 1], marks=pytest.mark.spec("MTH-06")),
        pytest.param("Method", "card", [None], ["a", 5], marks=pytest.mark.spec("MTH-07")),
        pytest.param("Method", "wallet", [None], ["a", 5], marks=pytest.mark.spec("MTH-08")),
        pytest.param("Method", "crypto_currency", [None], ["a", 5], marks=pytest.mark.spec("MTH-09")),
        pytest.param(
            "Method", "refund_allowed", [True, False], ["true", 1], marks=pytest.mark.spec("MTH-10")
        ),
        pytest.param(
            "Method", "recurring_allowed", [True, False], ["true", 1], marks=pytest.mark.spec("MTH-11")
        ),
        pytest.param("OrderItem", "id", ["a"], [5, True], marks=pytest.mark.spec("ITM-01")),
        pytest.param("OrderItem", "sku", ["a"], [5, True], marks=pytest.mark.spec("ITM-02")),
        pytest.param("OrderItem", "name", ["a"], [5, True], marks=pytest.mark.spec("ITM-03")),
        pytest.param("OrderItem", "description", ["a"], [5, True], marks=pytest.mark.spec("ITM-04")),
        pytest.param(
            "OrderItem",
            "images",
            [["https://shop.example/hat.png"], []],
            ["a", [5]],
            marks=pytest.mark.spec("ITM-05"),
        ),
        pytest.param("OrderItem", "metadata", [{"a": "b"}], ["a", 5], marks=pytest.mark.spec("ITM-06")),
        pytest.param("OrderItem", "code", ["a"], [5, True], marks=pytest.mark.spec("ITM-07")),
        pytest.param("OrderItem", "platform", ["a"], [5, True], marks=pytest.mark.spec("ITM-08")),
        pytest.param("Refund", "amount", [9.99], ["9.99", -1, 9.999], marks=pytest.mark.spec("RFD-01")),
        pytest.param("Refund", "currency", ["EUR"], ["eur", "EURO", 5], marks=pytest.mark.spec("RFD-02")),
        pytest.param("Refund", "reason", ["a"], [5, True], marks=pytest.mark.spec("RFD-03")),
        pytest.param("Refund", "code", ["a"], [5, True], marks=pytest.mark.spec("RFD-04")),
        pytest.param("Refund", "receipt_number", ["a"], [5, True], marks=pytest.mark.spec("RFD-05")),
        pytest.param("Refund", "receipt_url", ["a"], [5, True], marks=pytest.mark.spec("RFD-06")),
        pytest.param("Notification", "id", ["a"], [5, True], marks=pytest.mark.spec("WHK-01")),
        pytest.param(
            "Notification", "type", ["notification"], ["message", 5], marks=pytest.mark.spec("WHK-02")
        ),
        pytest.param(
            "Notification",
            "event",
            ["payment.success", "payment.chargeback", "payment.refund", "payment.cancel", "user.validate"],
            ["payment.other", 5],
            marks=pytest.mark.spec("WHK-03", "EVT-03", "EVT-04", "EVT-05", "EVT-06", "EVT-07"),
        ),
        pytest.param("Notification", "live", [True, False], ["true", 1], marks=pytest.mark.spec("WHK-04")),
        pytest.param(
            "Notification",
            "created_at",
            ["2026-03-04T12:00:00Z"],
            ["yesterday", 5],
            marks=pytest.mark.spec("WHK-05"),
        ),
        pytest.param(
            "Notification",
            "expires_at",
            ["2026-03-04T12:00:00Z", ""],
            ["yesterday", 5],
            marks=pytest.mark.spec("WHK-06", "EVT-10"),
        ),
        pytest.param(
            "Notification", "delivery_try", [0, 3], ["3", -1, 2.5], marks=pytest.mark.spec("WHK-07", "EVT-10")
        ),
        pytest.param("Notification", "object", [], ["a", 5], marks=pytest.mark.spec("WHK-08", "EVT-08")),
        pytest.param("ListEnvelope", "object", ["list"], ["order", 5], marks=pytest.mark.spec("LST-01")),
        pytest.param("ListEnvelope", "data", [[]], ["a", {}], marks=pytest.mark.spec("LST-02")),
        pytest.param(
            "ListEnvelope", "has_more", [True, False], ["true", 1], marks=pytest.mark.spec("LST-03")
        ),
        pytest.param(
            "ListEnvelope", "has_before", [True, False], ["true", 1], marks=pytest.mark.spec("LST-04")
        ),
        pytest.param("ListEnvelope", "total_count", [3], ["3"], marks=pytest.mark.spec("LST-05")),
        pytest.param("Cursor", "limit", [1, 100], [0, 101, "a"], marks=pytest.mark.spec("EP4-01", "LIM-01")),
        pytest.param("Cursor", "starting_after", ["a"], [5, True], marks=pytest.mark.spec("EP4-02")),
        pytest.param("Cursor", "ending_before", ["a"], [5, True], marks=pytest.mark.spec("EP4-03")),
        pytest.param("List", "id", ["a"], [5, True], marks=pytest.mark.spec("EP3-03")),
        pytest.param("List", "project", [["p-1", "p-2"]], ["p-1", [5]], marks=pytest.mark.spec("EP3-04")),
        pytest.param(
            "List",
            "status",
            [["created", "processed", "rejected", "canceled", "refunded", "chargeback", "pending"]],
            ["created", ["paid"]],
            marks=pytest.mark.spec("EP3-05", "STA-09"),
        ),
        pytest.param("List", "account", ["a"], [5, True], marks=pytest.mark.spec("EP3-06")),
        pytest.param(
            "List",
            "project_date_from",
            [["2026-03-04T12:00:00"]],
            ["2026-03-04T12:00:00", ["2026-03-04"]],
            marks=pytest.mark.spec("EP3-07", "EP3-08"),
        ),
        pytest.param(
            "List",
            "project_date_to",
            ["2026-03-04T12:00:00"],
            ["2026-03-04", 5],
            marks=pytest.mark.spec("EP3-08"),
        ),
        pytest.param("List", "invoice_id", ["a"], [5, True], marks=pytest.mark.spec("EP3-09")),
        pytest.param("List", "limit", [1, 1000], [0, 1001, "a"], marks=pytest.mark.spec("EP3-10", "LIM-02")),
        pytest.param("List", "offset", [0, 1000000], [-1, "a"], marks=pytest.mark.spec("EP3-11")),
        pytest.param("List", "project[]", [["p-1", "p-2"]], ["p-1", [5]], marks=pytest.mark.spec("EP3-04")),
        pytest.param(
            "List",
            "status[]",
            [["created", "processed", "rejected", "canceled", "refunded", "chargeback", "pending"]],
            ["created", ["paid"]],
            marks=pytest.mark.spec("EP3-05"),
        ),
        pytest.param("Order/properties/cancellation", "code", ["05"], [5], marks=pytest.mark.spec("ORD-09")),
        pytest.param(
            "Order/properties/cancellation", "reason", ["a"], [5, True], marks=pytest.mark.spec("ORD-09")
        ),
        pytest.param("Order/properties/issuer", "url", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")),
        pytest.param(
            "Order/properties/issuer",
            "embedded",
            [True, False],
            ["true", 1],
            marks=pytest.mark.spec("ORD-21"),
        ),
        pytest.param(
            "Order/properties/issuer", "reference", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/issuer", "reference_type", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/issuer", "utm_source", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/issuer", "utm_medium", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/issuer", "utm_campaign", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/issuer", "referrer_host", ["a"], [5, True], marks=pytest.mark.spec("ORD-21")
        ),
        pytest.param(
            "Order/properties/billing_address", "country", ["DE"], ["de", 5], marks=pytest.mark.spec("ORD-25")
        ),
        pytest.param(
            "Order/properties/billing_address", "state", ["a"], [5, True], marks=pytest.mark.spec("ORD-25")
        ),
        pytest.param(
            "Order/properties/billing_address", "zip", ["a"], [5, True], marks=pytest.mark.spec("ORD-25")
        ),
        pytest.param("Order/properties/tax", "type", ["a"], [5, True], marks=pytest.mark.spec("ORD-26")),
        pytest.param("Order/properties/tax", "rate", [0.19], ["0.19", -1], marks=pytest.mark.spec("ORD-26")),
        pytest.param("Order/properties/tax", "amount", [1.9, 0], ["1.9"], marks=pytest.mark.spec("ORD-26")),
        pytest.param(
            "Order/properties/tax", "currency", ["EUR"], ["eur", 5], marks=pytest.mark.spec("ORD-26")
        ),
        pytest.param(
            "Order/properties/merchant_info",
            "company_name",
            ["a"],
            [5, True],
            marks=pytest.mark.spec("ORD-45"),
        ),
        pytest.param(
            "Order/properties/merchant_info",
            "agreement_number",
            ["a"],
            [5, True],
            marks=pytest.mark.spec("ORD-45"),
        ),
        pytest.param("Method/properties/card", "first6", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")),
        pytest.param("Method/properties/card", "last4", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")),
        pytest.param("Method/properties/card", "masked", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")),
        pytest.param(
            "Method/properties/card", "expiry_month", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")
        ),
        pytest.param(
            "Method/properties/card", "expiry_year", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")
        ),
        pytest.param("Method/properties/card", "brand", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")),
        pytest.param(
            "Method/properties/card", "fingerprint", ["a"], [5, True], marks=pytest.mark.spec("MTH-07")
        ),
        pytest.param(
            "Method/properties/card", "secure3d", [True, False], ["true", 1], marks=pytest.mark.spec("MTH-07")
        ),
        pytest.param("Method/properties/wallet", "brand", ["a"], [5, True], marks=pytest.mark.spec("MTH-08")),
        pytest.param(
            "Method/properties/wallet", "account", ["a"], [5, True], marks=pytest.mark.spec("MTH-08")
        ),
        pytest.param(
            "Method/properties/crypto_currency", "brand", ["a"], [5, True], marks=pytest.mark.spec("MTH-09")
        ),
        pytest.param(
            "Method/properties/crypto_currency", "address", ["a"], [5, True], marks=pytest.mark.spec("MTH-09")
        ),
        pytest.param(
            "User/properties/address", "country", ["DE"], ["de", 5], marks=pytest.mark.spec("USR-11")
        ),
        pytest.param("User/properties/address", "city", ["a"], [5, True], marks=pytest.mark.spec("USR-11")),
        pytest.param(
            "User/properties/address", "postal_code", ["a"], [5, True], marks=pytest.mark.spec("USR-11")
        ),
        pytest.param("User/properties/address", "state", ["BE"], [5], marks=pytest.mark.spec("USR-11")),
        pytest.param("RequestedAddress", "country", ["DE"], ["de", 5], marks=pytest.mark.spec("EP1-10")),
        pytest.param("RequestedAddress", "city", ["a"], [5, True], marks=pytest.mark.spec("EP1-10")),
        pytest.param("RequestedAddress", "postal_code", ["a"], [5, True], marks=pytest.mark.spec("EP1-10")),
        pytest.param("RequestedAddress", "state", ["DE-BE"], [5], marks=pytest.mark.spec("EP1-10")),
    ],
)
def test_a_field_has_its_name_and_type(where: str, name: str, allowed: list[Any], refused: list[Any]) -> None:
    """Values that the specification allows, and others; "List" and "Cursor" are the queries of the two lists."""
    document = described()
    validator = jsonschema_rs.Draft202012Validator(
        {"$ref": f"urn:openapi#{_pointer(document, where, name)}"},
        registry=known_schemas(),
        validate_formats=True,
    )
    assert [value for value in allowed if not validator.is_valid(value)] == []
    assert [value for value in refused if validator.is_valid(value)] == []


def _pointer(document: dict[str, Any], where: str, name: str) -> str:
    """Where the schema of a field or of a parameter stands."""
    if where == "Cursor":
        parameters = document["components"]["parameters"]
        (key,) = (key for key, each in parameters.items() if each["name"] == name and each["in"] == "query")
        return f"/components/parameters/{key}/schema"
    if where == "List":
        parameters = document["paths"][vocabulary.TRANSACTIONS_PATH]["get"]["parameters"]
        (number,) = (number for number, each in enumerate(parameters) if each.get("name") == name)
        assert parameters[number]["in"] == "query" and not parameters[number].get("required")
        path = vocabulary.TRANSACTIONS_PATH.replace("/", "~1")
        return f"/paths/{path}/get/parameters/{number}/schema"
    fields = document["components"]["schemas"]
    for step in where.split("/"):
        fields = fields[step]
    assert name in fields["properties"]
    return f"/components/schemas/{where}/properties/{name}"


SHAPES: Final = [
    {"project": "p-1", "type": "simple", "amount": 9.99, "currency": "EUR"},
    {"project": "p-1", "type": "key", "products": ["starlight"], "platform_id": "gog"},
    {"project": "p-1", "type": "product", "products": ["hat", "coat"]},
    {"project": "p-1", "type": "virtual_currency", "products": ["500-gems"]},
    {"token": "t-1"},
]


@pytest.mark.spec("EP2-18")
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_of_an_order_is_described(shape: dict[str, Any]) -> None:
    """And none that lacks what its type requires, nor one that is no object."""
    reference = {"$ref": "urn:openapi#/components/schemas/OrderRequest"}
    validator = jsonschema_rs.Draft202012Validator(reference, registry=known_schemas())
    assert validator.is_valid(shape)
    required = {
        "simple": ["project", "amount", "currency"],
        "key": ["project", "products"],
        "product": ["products"],
    }
    for name in required.get(shape.get("type", ""), []):
        assert not validator.is_valid({key: value for key, value in shape.items() if key != name})
    assert not validator.is_valid([shape]) and not validator.is_valid(str(shape))


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        pytest.param(
            "signature",
            {"type": "apiKey", "in": "header", "name": "X-API-SIGNATURE"},
            marks=pytest.mark.spec("AUT-02", "EP1-02", "EP2-02"),
        ),
        pytest.param(
            "project", {"type": "http", "scheme": "basic"}, marks=pytest.mark.spec("AUT-03", "EP3-02")
        ),
        pytest.param(
            "notification",
            {"type": "apiKey", "in": "header", "name": "Authorization"},
            marks=pytest.mark.spec("AUT-04"),
        ),
    ],
)
def test_each_way_to_sign_is_named(scheme: str, expected: dict[str, str]) -> None:
    """A header of its own, basic authentication, and the header of notifications."""
    assert expected.items() <= described()["components"]["securitySchemes"][scheme].items()


@pytest.mark.parametrize(
    ("path", "method", "security"),
    [
        pytest.param(
            "/api/v1/tokens", "post", [{"signature": []}], marks=pytest.mark.spec("EP1-01", "EP1-02")
        ),
        pytest.param(
            "/api/v1/order",
            "post",
            [{}, {"signature": []}],
            marks=pytest.mark.spec("EP2-01", "EP2-02", "AUT-06"),
        ),
        pytest.param(
            "/merchant/s2s/api/v1/order",
            "get",
            [{"project": []}],
            marks=pytest.mark.spec("EP3-01", "EP3-02", "AUT-03"),
        ),
    ],
)
def test_each_operation_stands_at_its_address(path: str, method: str, security: list[Any]) -> None:
    """With its method, and signed as the specification says."""
    operations = described()["paths"][path]
    assert set(operations) - {"parameters", "description", "summary"} == {method}
    assert operations[method]["security"] == security


@pytest.mark.spec("AUT-04", "AUT-07", "EP5-01")
def test_a_notification_is_posted_signed() -> None:
    """As JSON, with the hash in hexadecimal digits after a word."""
    (operation,) = described()["webhooks"]["notification"].values()
    parameters = {each["name"]: each for each in operation["parameters"] if "name" in each}
    assert set(described()["webhooks"]["notification"]) == {"post"}
    assert set(operation["requestBody"]["content"]) == {"application/json"}
    assert parameters["Accept"]["schema"] == {"type": "string", "const": "application/json"}
    authorization = jsonschema_rs.validator_for(parameters["Authorization"]["schema"])
    assert authorization.is_valid(f"Signature {'0a' * 32}")
    for text in ("0a" * 32, f"Signature {'0a' * 20}", f"Bearer {'0a' * 32}", 5):
        assert not authorization.is_valid(text)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("400", marks=pytest.mark.spec("HTT-05")),
        pytest.param("401", marks=pytest.mark.spec("HTT-06", "AUT-05")),
        pytest.param("402", marks=pytest.mark.spec("HTT-07")),
        pytest.param("403", marks=pytest.mark.spec("HTT-08")),
        pytest.param("404", marks=pytest.mark.spec("HTT-09")),
        pytest.param("406", marks=pytest.mark.spec("HTT-10", "SVC-08")),
        pytest.param("409", marks=pytest.mark.spec("HTT-11")),
        pytest.param("422", marks=pytest.mark.spec("HTT-12")),
        pytest.param("429", marks=pytest.mark.spec("HTT-13")),
        pytest.param("500", marks=pytest.mark.spec("HTT-14")),
        pytest.param("503", marks=pytest.mark.spec("HTT-14")),
    ],
)
@pytest.mark.spec("HTT-01", "SVC-05")
def test_each_error_is_described_as_json(code: str) -> None:
    """Of both ways to create, with an object of errors."""
    for path in (vocabulary.TOKENS_PATH, vocabulary.ORDER_PATH):
        responses = described()["paths"][path]["post"]["responses"]
        answer = described()["components"]["responses"][responses[code]["$ref"].rpartition("/")[2]]
        assert set(answer["content"]) == {"application/json"}
        assert answer["content"]["application/json"]["schema"]["$ref"].endswith("Error")
