"""One HTTP exchange with the service: secure address, one deadline, bounded answer, typed failures."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import BaseHTTPResponse, PoolManager
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from checkout_integration.client.deadline import Deadline, DeadlineTimeout, watching_pool
from checkout_integration.client.errors import (
    AnswerUnreadable,
    CheckoutError,
    DeadlineExceeded,
    ServiceUnreachable,
)
from checkout_integration.client.logs import cut_queries
from checkout_integration.client.retry import JitteredRetry
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.endpoints import Endpoint

_CHUNK_BYTES: Final = 64 * 1024
# Not every SSLError: some come while the answer is read.
_NEVER_SENT: Final = (NewConnectionError, ConnectTimeoutError, ssl.SSLCertVerificationError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back, its body decompressed."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Transport:
    """Sends prepared requests over shared connections. Safe to use from several threads.

    It drives the adapter of requests without a Session: so there are no redirects (they would carry
    ``X-API-SIGNATURE`` to another host), no .netrc, no proxies from the environment, and no cookies.
    """

    def __init__(self) -> None:
        cut_queries()
        self._pool = watching_pool()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._pool.clear()

    def exchange(
        self, endpoint: Endpoint, request: requests.Request, *, limit: int, seconds: float
    ) -> Answer:
        """Send a request and read the whole answer, of at most ``limit`` bytes, within so many seconds.

        Raises ServiceUnreachable, DeadlineExceeded or AnswerUnreadable. Every status is an answer.
        """
        with Deadline(seconds) as deadline:
            try:
                return self._send(endpoint, request.prepare(), deadline, limit)
            except (requests.RequestException, HTTPError, OSError, BodyRefused) as error:
                failure = _failure(endpoint, error, deadline)
        # Raised outside of `except`: the library's error would bring the request along, secret included.
        raise failure

    def _send(
        self, endpoint: Endpoint, request: requests.PreparedRequest, deadline: Deadline, limit: int
    ) -> Answer:
        retry = JitteredRetry.within(deadline, repeatable=endpoint.repeatable)
        adapter = _Adapter(self._pool, retry)
        response = adapter.send(request, stream=True, timeout=DeadlineTimeout(deadline), verify=True)  # type: ignore[arg-type]
        try:
            encoding = response.headers.get("Content-Encoding", "")
            body = read_body(_chunks(response.raw, deadline), encoding, limit)
        except BaseException:
            response.raw.close()  # never back into the pool: the rest of the answer is still in it
            raise
        response.close()
        return Answer(status=response.status_code, headers=response.headers, body=body)


class SignatureAuth(AuthBase):
    """Sets a header to the secret key. An object, so that no variable on the way holds the text."""

    def __init__(self, header: str, reveal: Callable[[], str]) -> None:
        self._header = header
        self._reveal = reveal

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign the request."""
        request.headers[self._header] = self._reveal()
        return request


class _Adapter(HTTPAdapter):
    """The adapter of one call, over connections that all calls share."""

    def __init__(self, pool: PoolManager, retry: JitteredRetry) -> None:
        self._shared = pool
        super().__init__(max_retries=retry)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        self.poolmanager = self._shared


def _chunks(raw: BaseHTTPResponse, deadline: Deadline) -> Iterator[bytes]:
    # read1 answers with what is there; read would wait until the whole amount has dripped in.
    while chunk := raw.read1(_CHUNK_BYTES, decode_content=False):
        yield chunk
        _refuse_late(deadline)
    _refuse_late(deadline)  # a cut connection looks like the end of an answer without a length


def _refuse_late(deadline: Deadline) -> None:
    if deadline.is_over():
        raise TimeoutError


def _failure(endpoint: Endpoint, error: Exception, deadline: Deadline) -> CheckoutError:
    name = f"{endpoint.method} {endpoint.path}"
    root = _root(error)
    never_sent = isinstance(root, _NEVER_SENT)
    safety = {
        "retry_is_safe": endpoint.repeatable or never_sent,
        "outcome_unknown": not endpoint.repeatable and not never_sent,
    }
    if isinstance(error, BodyRefused):
        return AnswerUnreadable(f"the answer of {name} was not read: {error}", **safety)
    if deadline.is_over() and not isinstance(root, NewConnectionError):
        return DeadlineExceeded(f"{name} was not answered in time; raise the timeout or try later", **safety)
    return ServiceUnreachable(
        f"{name} was not answered ({type(root).__name__}); check the address and the network",
        **safety,
    )


def _root(error: BaseException) -> BaseException:
    """The first cause inside the wrappings of requests and urllib3."""
    inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
    return _root(inner) if isinstance(inner, BaseException) else error
