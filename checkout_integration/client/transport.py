"""One HTTP exchange with the service: secure address, one deadline, bounded response, typed failures."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.auth import AuthBase
from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from checkout_integration.client.deadline import Deadline, DeadlineTimeout, watching_pool
from checkout_integration.client.errors import (
    CheckoutError,
    DeadlineExceeded,
    ResponseUnreadable,
    ServiceUnreachable,
)
from checkout_integration.client.logs import cut_queries
from checkout_integration.client.retry import JitteredRetry
from checkout_integration.protocol.body import BodyRefused, read_body
from checkout_integration.protocol.endpoints import Endpoint

_CHUNK_BYTES: Final = 64 * 1024
# Not every SSLError: some come while the response is read.
_NEVER_SENT: Final = (NewConnectionError, ConnectTimeoutError, ssl.SSLCertVerificationError)


@dataclass(frozen=True, kw_only=True, slots=True)
class RawResponse:
    """A response with a decompressed body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Transport:
    """Sends prepared requests over shared connections. Safe to use from several threads.

    It drives the adapter of requests without `Session.send`: so there are no redirects (they would carry
    ``X-API-SIGNATURE`` to another host), no .netrc, no proxies from the environment, and no cookies.

    Args:
        session: a session of the shop's. Its ``proxies``, ``verify``, ``cert`` and ``headers`` apply. An adapter that it has
            mounted for an address sends the requests there, once each: it may retry by itself.
        slow_down: called after each 429, with the seconds of the pause.

    """

    def __init__(
        self,
        session: requests.Session | None = None,
        slow_down: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        cut_queries()
        self._pool = watching_pool()
        self._proxied: dict[str, ProxyManager] = {}
        self._session = session
        self._slow_down = slow_down

    def close(self) -> None:
        """Close the open connections, those of the session too."""
        self._pool.clear()
        for proxied in self._proxied.values():
            proxied.clear()
        if self._session is not None:
            self._session.close()

    def exchange(
        self, endpoint: Endpoint, request: requests.Request, *, limit: int, seconds: float
    ) -> RawResponse:
        """Send a request and read the whole response, of at most ``limit`` bytes, within so many seconds.

        Raises ServiceUnreachable, DeadlineExceeded or ResponseUnreadable. A response of any status is returned.
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
    ) -> RawResponse:
        retry = JitteredRetry.within(deadline, repeatable=endpoint.repeatable, slow_down=self._slow_down)
        adapter: BaseAdapter = _Adapter(self._pool, self._proxied, retry)
        options: dict[str, Any] = {"verify": True}
        if (session := self._session) is not None:
            for name, value in session.headers.items():
                request.headers.setdefault(name, str(value))
            options = {"verify": session.verify, "cert": session.cert, "proxies": session.proxies}
            mounted = session.get_adapter(str(request.url))
            adapter = adapter if type(mounted) is HTTPAdapter else mounted
        response = adapter.send(request, stream=True, timeout=DeadlineTimeout(deadline), **options)  # type: ignore[arg-type]
        try:
            encoding = response.headers.get("Content-Encoding", "")
            body = read_body(_chunks(response.raw, deadline), encoding, limit)
        except BaseException:
            response.raw.close()  # never back into the pool: the rest of the response is still in it
            raise
        response.close()
        return RawResponse(status=response.status_code, headers=response.headers, body=body)


class SignatureAuth(AuthBase):
    """Sets a header to the secret key. An object, so that no variable on the way has the text."""

    def __init__(self, header: str, reveal: Callable[[], str]) -> None:
        self._header = header
        self._reveal = reveal

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign the request."""
        request.headers[self._header] = self._reveal()
        return request


class _Adapter(HTTPAdapter):
    """The adapter of one call, over connections that all calls share."""

    def __init__(self, pool: PoolManager, proxied: dict[str, ProxyManager], retry: JitteredRetry) -> None:
        self._shared = pool
        super().__init__(max_retries=retry)
        self.proxy_manager = proxied

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        self.poolmanager = self._shared

    def proxy_manager_for(self, proxy: str, **options: Any) -> ProxyManager:
        """Return the connections through a proxy; they obey the deadline too."""
        manager: ProxyManager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = self._shared.pool_classes_by_scheme
        return manager


def _chunks(raw: BaseHTTPResponse, deadline: Deadline) -> Iterator[bytes]:
    # read1 returns the bytes received so far; read would wait until the whole amount has dripped in.
    while chunk := raw.read1(_CHUNK_BYTES, decode_content=False):
        yield chunk
        _refuse_late(deadline)
    _refuse_late(deadline)  # a cut connection looks like the end of a response without a length


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
        return ResponseUnreadable(f"the answer of {name} was not read: {error}", **safety)
    if deadline.is_over() and not isinstance(root, NewConnectionError):
        return DeadlineExceeded(f"{name} was not answered in time; raise the timeout or try later", **safety)
    return ServiceUnreachable(
        f"{name} was not answered ({type(root).__name__}); check the address and the network",
        **safety,
    )


def _root(error: BaseException) -> BaseException:
    """Return the first cause inside the wrappings of requests and urllib3."""
    inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
    return _root(inner) if isinstance(inner, BaseException) else error
