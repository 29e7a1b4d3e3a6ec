"""One HTTP exchange with the service: secure address, one deadline, bounded response, typed failures."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
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
_PARTS: Final = ("method", "url", "params", "data", "headers", "auth")
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

    Each call has a `requests.Session` of its own: what stops or records calls in a shop's tests patches sessions. There are
    no redirects (they would carry ``X-API-SIGNATURE`` to another host), no .netrc, no proxies from the environment, and no
    cookies.

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
                return self._send(endpoint, request, deadline, limit)
            except (requests.RequestException, HTTPError, OSError, BodyRefused) as error:
                failure = _failure(endpoint, error, deadline)
        # Raised outside of `except`: the library's error would bring the request along, secret included.
        raise failure

    def _send(
        self, endpoint: Endpoint, request: requests.Request, deadline: Deadline, limit: int
    ) -> RawResponse:
        session = self._session_for(request.url, endpoint, deadline)
        parts = {name: getattr(request, name) for name in _PARTS}
        time_limit: Any = DeadlineTimeout(deadline)  # requests takes urllib3's, too
        response = session.request(**parts, timeout=time_limit, allow_redirects=False, stream=True)
        try:
            response.raw.decode_content = (
                False  # not every recorder leaves that to the reader, as requests does
            )
            encoding = response.headers.get("Content-Encoding", "")
            body = read_body(_chunks(response.raw, deadline), encoding, limit)
        except BaseException:
            response.raw.close()  # never back into the pool: the rest of the response is still in it
            raise
        response.close()
        return RawResponse(status=response.status_code, headers=response.headers, body=body)

    def _session_for(self, address: str, endpoint: Endpoint, deadline: Deadline) -> requests.Session:
        """Return the session of one call. Closing it would close the connections that all calls share."""
        retry = JitteredRetry.within(deadline, repeatable=endpoint.repeatable, slow_down=self._slow_down)
        adapter: BaseAdapter = _Adapter(self._pool, self._proxied, retry)
        session = _Session()
        if (given := self._session) is not None:
            session.headers.update(given.headers)
            session.verify, session.cert, session.proxies = given.verify, given.cert, given.proxies
            mounted = given.get_adapter(address)
            adapter = adapter if type(mounted) is HTTPAdapter else mounted
        session.mount("", adapter)
        return session


class _Session(requests.Session):
    """Takes nothing from the environment, adds no headers, and reads no redirect, not even to say where it would lead."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.headers.clear()
        self.adapters.clear()

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return nothing: requests would read the whole body of a redirect, without a limit."""


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
    while chunk := raw.read1(_CHUNK_BYTES):
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
