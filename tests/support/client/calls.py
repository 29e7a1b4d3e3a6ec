"""The three calls, as failures are tried on each of them, and the look at what an exception gives away."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from checkout_integration.client import Client, errors
from checkout_integration.protocol.creation import OrderRequest, TokenRequest
from checkout_integration.protocol.listing import TransactionFilter
from tests.client.conftest import SECRET
from tests.support.client.stub import http
from tests.support.protocol.vectors import vector_bytes

FORM = "https://form.example/?order_id=order-1"
ORDER = OrderRequest(project="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
TOKEN = TokenRequest(project_id="proj-1", type="simple", currency="USD", amount=Decimal("9.99"))
ACCOUNT = "player-42"
PAGE = vector_bytes("transactions")
BASIC = base64.b64encode(f"proj-1:{SECRET}".encode()).decode()

CALLS: dict[str, Callable[[Client], Any]] = {
    "token": lambda client: client.create_token(TOKEN),
    "order": lambda client: client.create_order(ORDER),
    "list": lambda client: client.list_transactions(TransactionFilter(account=ACCOUNT)),
}
ERROR = json.dumps({"code": "zz000001", "message": f"no {SECRET}", "details": f"{BASIC}"}).encode()
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def failure(client: Client, call: Callable[[Client], Any]) -> errors.CheckoutError:
    """The exception of a call, once it is sure that it shows no secret and drags no request along."""
    with pytest.raises(errors.CheckoutError) as caught:
        call(client)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for text in (SECRET, BASIC, ACCOUNT):
        assert text not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


def good_answer(name: str) -> bytes:
    """What the call of this name wants to hear."""
    document = {"id": "o", "token": "t", "payment_form_url": FORM}
    return http(200, PAGE if name == "list" else json.dumps(document).encode())
