"""The API that the peer calls for each event, on this machine: `python -m benchmarks.stub FILE-DESCRIPTOR`."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any, cast

API_KEY = "sk_test_benchmarks000000000000000"
ACCOUNT: dict[str, Any] = {
    "id": "acct_benchmarks",
    "object": "account",
    "business_profile": {},
    "charges_enabled": True,
    "country": "US",
    "default_currency": "usd",
    "details_submitted": True,
    "email": "shop@example.com",
    "payouts_enabled": True,
    "settings": {},
    "type": "standard",
}


def charge(name: str) -> dict[str, Any]:
    """Return a charge that has no relations: each of them would cost the peer another call."""
    absent = (
        "application application_fee application_fee_amount balance_transaction customer destination dispute "
        "failure_balance_transaction failure_code failure_message invoice on_behalf_of order payment_intent payment_method "
        "receipt_email receipt_number review shipping source source_transfer statement_descriptor "
        "statement_descriptor_suffix transfer_data transfer_group"
    )
    return {
        **dict.fromkeys(absent.split()),
        "id": name,
        "object": "charge",
        "amount": 999,
        "amount_captured": 999,
        "amount_refunded": 0,
        "billing_details": {
            "address": {
                "city": "Berlin",
                "country": "DE",
                "line1": None,
                "line2": None,
                "postal_code": "10115",
            },
            "email": "ada@example.com",
            "name": "Ada Lovelace",
            "phone": None,
        },
        "calculated_statement_descriptor": "SHOP",
        "captured": True,
        "created": 1_700_000_000,
        "currency": "usd",
        "description": "A golden sword and a leather shield",
        "disputed": False,
        "fraud_details": {},
        "livemode": False,
        "metadata": {"cart": name, "campaign": "autumn"},
        "outcome": {
            "network_status": "approved_by_network",
            "reason": None,
            "risk_level": "normal",
            "risk_score": 3,
            "seller_message": "Payment complete.",
            "type": "authorized",
        },
        "paid": True,
        "payment_method_details": {
            "card": {
                "brand": "visa",
                "checks": {
                    "address_line1_check": None,
                    "address_postal_code_check": "pass",
                    "cvc_check": "pass",
                },
                "country": "DE",
                "exp_month": 12,
                "exp_year": 2034,
                "fingerprint": "b5bb9d8014a0f9b1",
                "funding": "credit",
                "installments": None,
                "last4": "4242",
                "network": "visa",
                "three_d_secure": None,
                "wallet": None,
            },
            "type": "card",
        },
        "radar_options": {},
        "receipt_url": f"https://pay.example.com/receipts/{name}",
        "refunded": False,
        "status": "succeeded",
    }


def response_to(path: str) -> bytes:
    """Return the response to a GET: a charge by its name, the account, or a list of nothing."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[1:2] == ["charges"] and len(parts) == 3:
        document = charge(parts[2])
    elif parts[1:2] in (["account"], ["accounts"]):
        document = ACCOUNT
    else:
        document = {"object": "list", "data": [], "has_more": False, "url": path}
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nRequest-Id: req_1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Api(asyncio.Protocol):
    """A connection; requests have no body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where responses go."""
        self._transport = cast("asyncio.Transport", transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._transport.write(response_to(head.split(b" ", 2)[1].decode()))


async def main() -> None:
    """Serve on the socket that was inherited."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    server = await asyncio.get_running_loop().create_server(Api, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
