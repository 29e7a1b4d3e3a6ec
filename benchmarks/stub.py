"""The API that the peer calls for each event, on this machine: `python -m benchmarks.stub FILE-DESCRIPTOR`."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qs

API_KEY = "sk_test_benchmarks000000000000000"
PAGE = 100
NAME = "@charge@"
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
    """Return the response to a GET: a charge by its name, the account, or a list. Only charges are listed.

    The first part of the path may be a number: so many charges are listed. A page has a hundred of them if no limit is given.
    """
    address, _, query = path.partition("?")
    parts = address.strip("/").split("/")
    listed = int(parts.pop(0)) if parts[0].isdigit() else 0
    if parts[1:2] == ["charges"] and len(parts) == 3:
        body = json.dumps(charge(parts[2]))
    elif parts[1:2] == ["account"] or (parts[1:2] == ["accounts"] and len(parts) == 3):
        body = json.dumps(ACCOUNT)
    else:
        first = _position(query) if parts[1:2] == ["charges"] else listed
        last = min(first + PAGE, listed)
        page = ", ".join(_template().replace(NAME, f"ch_{number:024d}") for number in range(first, last))
        envelope = {"object": "list", "has_more": last < listed, "url": "/" + "/".join(parts)}
        body = f'{json.dumps(envelope)[:-1]}, "data": [{page}]}}'
    return response(body.encode(), "Request-Id: req_1")


@cache
def _template() -> str:
    return json.dumps(charge(NAME))


def _position(query: str) -> int:
    """Return the number of the first charge of a page: the one after the last of the page before."""
    (before,) = parse_qs(query).get("starting_after", ["ch_-1"])
    return int(before.removeprefix("ch_")) + 1


def response(body: bytes, *headers: str) -> bytes:
    """Return a response of JSON as it travels; the connection stays open."""
    head = [
        "HTTP/1.1 200 OK",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Api(asyncio.Protocol):
    """A connection; requests have no body."""

    def __init__(self, respond: Callable[[str], bytes]) -> None:
        self._respond = respond

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where responses go."""
        self._transport = cast("asyncio.Transport", transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._transport.write(self._respond(head.split(b" ", 2)[1].decode()))


async def serve(respond: Callable[[str], bytes]) -> None:
    """Serve on the socket that was inherited: `respond` returns the response to the GET of a path."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    server = await asyncio.get_running_loop().create_server(lambda: Api(respond), sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(response_to))
