"""One signed request to the merchant's webhook, over a real socket, changed by a fault if there is one (EP5-01)."""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import requests
from urllib3.exceptions import HTTPError

from checkout_integration.protocol import vocabulary
from checkout_integration.sandbox.faults.catalogue import FaultKind
from checkout_integration.sandbox.wire.addresses import is_loopback
from checkout_integration.sandbox.wire.signing import WRONG_KEY, authorization_of, signature_of

_PACKED: Final = {FaultKind.GZIP, FaultKind.GZIP_SIGNED_AS_SENT}


def sign_request(body: bytes, secret_key: str, kind: FaultKind | None = None) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of a signed notification, with what a fault does to them (EP5-01)."""
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
    return sent, headers


def _in_chunks(body: bytes) -> Iterator[bytes]:
    """Yield the body in two parts, which the HTTP library sends as chunks without a length."""
    yield body[: len(body) // 2]
    yield body[len(body) // 2 :]


_TURNS_TO_GET: Final = {301, 302, 303}
_KEEPS_METHOD: Final = {307, 308}
_LONGEST_ANSWER: Final = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class MerchantResponse:
    """The merchant's response: `status` 0 means that none came, and `note` says why."""

    status: int
    body: bytes = b""
    note: str = ""


def send_notification(
    url: str,
    body: bytes,
    secret_key: str,
    *,
    timeout: float,
    anywhere: bool = False,
    fault: FaultKind | None = None,
    follow: bool = True,
) -> MerchantResponse:
    """POST a signed body and return the response; network errors never raise.

    `fault` changes the body or the signature. One redirect is followed unless `follow` is False: for 301 to 303 with a GET,
    like deployed services, and only to the loopback unless `anywhere` (EVT-09).
    """
    sent, headers = sign_request(body, secret_key, fault)
    try:
        with requests.Session() as session:
            session.trust_env = False  # no proxy and no .netrc
            session.headers.update(headers)
            as_data = _in_chunks if fault is FaultKind.CHUNKED else bytes
            response, location = _exchange(session, "POST", url, as_data(sent), timeout)
            target = urljoin(url, location) if location else ""
            if follow and target and (anywhere or is_loopback(target)):
                turned = response.status in _TURNS_TO_GET
                method, again = ("GET", None) if turned else ("POST", as_data(sent))
                response, _ = _exchange(session, method, target, again, timeout)
            return response
    except (requests.RequestException, ValueError) as error:
        return MerchantResponse(status=0, note=type(error).__name__)


def _exchange(
    session: requests.Session, method: str, url: str, data: bytes | Iterator[bytes] | None, timeout: float
) -> tuple[MerchantResponse, str | None]:
    with session.request(
        method, url, data=data, timeout=timeout, allow_redirects=False, stream=True
    ) as response:
        redirected = response.status_code in _TURNS_TO_GET | _KEEPS_METHOD
        location = response.headers.get("Location") if redirected else None
        return MerchantResponse(status=response.status_code, body=_start_of(response, timeout)), location


def _start_of(response: requests.Response, timeout: float) -> bytes:
    """Return the first bytes of a response for the run log; of a broken body, what can be read."""
    body, ends_at = b"", time.monotonic() + timeout
    try:
        # Byte by byte: each read has a time-out of its own, so that a dripping body is left after the whole one.
        while len(body) < _LONGEST_ANSWER and time.monotonic() < ends_at:
            more = response.raw.read(1, decode_content=True)
            if not more:
                break
            body += more
    except (HTTPError, OSError):
        return body
    return body
