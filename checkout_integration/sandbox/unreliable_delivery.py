"""How notifications go wrong when the switchboard says so: kept back, or dressed in another way than the plain one."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from checkout_integration.protocol import vocabulary
from checkout_integration.sandbox.faults import Fault
from checkout_integration.sandbox.faults_catalogue import LONGEST_WAIT, FaultKind
from checkout_integration.sandbox.outgoing import Delivery, Outgoing
from checkout_integration.sandbox.signing import WRONG_KEY, authorization_of, signature_of

_PACKED: Final = {FaultKind.GZIP, FaultKind.GZIP_SIGNED_AS_SENT}
HELD: Final = {FaultKind.REORDER, FaultKind.DELAY}
"""The faults that strike a message once, and then let it go."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dressed:
    """A notification as it goes out."""

    body: bytes
    headers: dict[str, str] = field(repr=False)
    chunked: bool = False

    def data(self) -> bytes | Iterator[bytes]:
        """Return what the HTTP library sends: bytes with their length, or chunks without."""
        half = len(self.body) // 2
        return iter([self.body[:half], self.body[half:]]) if self.chunked else self.body


def dressed(body: bytes, secret_key: str, kind: FaultKind | None = None) -> Dressed:
    """Return the signed notification, with what a fault does to its body and its signature (EP5-01)."""
    sent = gzip.compress(body, mtime=0) if kind in _PACKED else body
    signed = sent if kind is FaultKind.GZIP_SIGNED_AS_SENT else body
    headers = {
        "Authorization": authorization_of(
            signed, WRONG_KEY if kind is FaultKind.BAD_SIGNATURE else secret_key
        ),
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": "checkout-sandbox",
    }
    if kind is FaultKind.BASE64_SIGNATURE:
        digest = base64.b64encode(bytes.fromhex(signature_of(signed, secret_key))).decode()
        headers["Authorization"] = f"{vocabulary.SIGNATURE_SCHEME} {digest}"
    if kind in _PACKED:
        headers["Content-Encoding"] = "gzip"
    return Dressed(body=sent, headers=headers, chunked=kind is FaultKind.CHUNKED)


def kept_back(fault: Fault | None, delivery: Delivery, outgoing: Outgoing, now: datetime) -> bool:
    """Whether the fault keeps a message from being sent now; then the queue knows for how long."""
    kind = fault.kind if fault else None
    if fault is None or kind not in {FaultKind.DROP, *HELD}:
        return False
    if kind is FaultKind.DROP:
        outgoing.settle(delivery, "lost", None)
    else:
        state = "held" if kind is FaultKind.REORDER else "due"
        outgoing.hold(delivery, now, fault.seconds or LONGEST_WAIT, state=state)
    return True
