"""Sending one request to the merchant's receiver, over a real socket, as the service does (EP5-01)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import requests
from urllib3.exceptions import HTTPError

from checkout_integration.sandbox.faults_catalogue import FaultKind
from checkout_integration.sandbox.project import is_loopback
from checkout_integration.sandbox.unreliable_delivery import Dressed, dressed

_TURNS_TO_GET: Final = {301, 302, 303}
_KEEPS_METHOD: Final = {307, 308}
_LONGEST_ANSWER: Final = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back: `status` 0 means that no answer came, and `note` says why."""

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
) -> Answer:
    """POST a signed body and return the answer; never raises for what the network does.

    `fault` changes body or signature. A redirect is followed once unless told not to, as a GET for 301 to 303 (field
    notes), and on the loopback only unless `anywhere`.
    """
    message = dressed(body, secret_key, fault)
    try:
        with requests.Session() as session:
            session.trust_env = False  # WHY: no proxy and no .netrc may stand between
            answer, location = _exchange(session, "POST", url, message, timeout)
            target = urljoin(url, location) if location else ""
            if follow and target and (anywhere or is_loopback(target)):
                method = "GET" if answer.status in _TURNS_TO_GET else "POST"
                answer, _ = _exchange(session, method, target, message, timeout)
            return answer
    except (requests.RequestException, ValueError) as error:
        return Answer(status=0, note=type(error).__name__)


def _exchange(
    session: requests.Session, method: str, url: str, message: Dressed, timeout: float
) -> tuple[Answer, str | None]:
    with session.request(
        method,
        url,
        data=message.data() if method == "POST" else None,
        headers=message.headers,
        timeout=timeout,
        allow_redirects=False,
        stream=True,
    ) as response:
        redirected = response.status_code in _TURNS_TO_GET | _KEEPS_METHOD
        location = response.headers.get("Location") if redirected else None
        return Answer(status=response.status_code, body=_start_of(response, timeout)), location


def _start_of(response: requests.Response, timeout: float) -> bytes:
    """Return the first bytes of an answer for the run log; the status alone counts, so a broken body ends where it breaks."""
    body, ends_at = b"", time.monotonic() + timeout
    try:
        # WHY byte by byte: each read waits for itself alone, so that a dripping body is left after the time-out.
        while len(body) < _LONGEST_ANSWER and time.monotonic() < ends_at:
            more = response.raw.read(1, decode_content=True)
            if not more:
                break
            body += more
    except (HTTPError, OSError):
        return body
    return body
