"""The endpoints of the specification that have a path, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from checkout_integration.protocol.vocabulary import ORDER_PATH, TOKENS_PATH, TRANSACTIONS_PATH


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """One operation of the service.

    Attributes:
        base: which configured address the path is appended to.
        auth: "signature" for the header X-API-SIGNATURE, "basic" for HTTP Basic.
        repeatable: whether it can be sent twice without harm. There is no idempotency key.

    """

    method: Literal["GET", "POST"]
    path: str
    base: Literal["base_url", "checkout_url", "list_url"]
    auth: Literal["signature", "basic"]
    repeatable: bool


# EP1-01, EP1-02, EP1-23. An unused token has no effect.
TOKENS: Final = Endpoint(
    method="POST",
    path=TOKENS_PATH,
    base="base_url",
    auth="signature",
    repeatable=True,
)

# EP2-01, EP2-02, EP2-17. AUT-06: whether the signature is mandatory is not shown; sending it is harmless.
# Every request makes a new order, so it is never repeated.
ORDER: Final = Endpoint(
    method="POST",
    path=ORDER_PATH,
    base="checkout_url",
    auth="signature",
    repeatable=False,
)

# EP3-01, EP3-02, EP3-12. The host is not shown, so it has an address of its own.
TRANSACTIONS: Final = Endpoint(
    method="GET",
    path=TRANSACTIONS_PATH,
    base="list_url",
    auth="basic",
    repeatable=True,
)
