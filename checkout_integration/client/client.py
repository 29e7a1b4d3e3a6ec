"""The client: one method per operation of the specification (SVC-01, SVC-02, SVC-04).

The specification shows no others: no refund (STA-10), no product (RFD-07), no single order (EP4-05).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, Final, Literal, Self, TypeVar

import requests

from checkout_integration import telemetry
from checkout_integration.client.config import ClientConfig
from checkout_integration.client.errors import ResponseUnreadable, TooManyRequests
from checkout_integration.client.headers import request_with_headers
from checkout_integration.client.pace import Pace
from checkout_integration.client.paging import PAGE_SIZE_MIN, chained_pages
from checkout_integration.client.rotation import Keys, refuses_key
from checkout_integration.client.statuses import error_of, is_success
from checkout_integration.client.transport import RawResponse, Transport
from checkout_integration.protocol.address import is_secure
from checkout_integration.protocol.creation import (
    OrderRequest,
    TokenRequest,
    build_order_document,
    build_token_document,
)
from checkout_integration.protocol.endpoints import ORDER, TOKENS, TRANSACTIONS, Endpoint
from checkout_integration.protocol.errors import ErrorObject, parse_error
from checkout_integration.protocol.listing import (
    CursorPage,
    TransactionFilter,
    TransactionPage,
    cursor_pairs,
    parse_cursor_page,
    parse_transaction_page,
    query_pairs,
)
from checkout_integration.protocol.order import Order
from checkout_integration.protocol.responses import (
    MalformedResponse,
    OrderResponse,
    TokenResponse,
    parse_order_response,
    parse_token_response,
)
from checkout_integration.protocol.strict_json import MAX_VALUES, JsonValue, StrictJsonError, dumps, loads
from checkout_integration.protocol.values import Document, Secret
from checkout_integration.protocol.vocabulary import (
    CURSOR_LIMIT_MAX,
    TRANSACTIONS_LIMIT_DEFAULT,
)

ANSWER_BYTES_MAX: Final = 256 * 1024
PAGE_BYTES_MAX: Final = 7 * 1024 * 1024
"""A thousand rows, the largest page, of 7 kB each; while they are joined they are in memory twice."""
ROW_VALUES_MAX: Final = 1_000
"""Of a page's rows on average; an order has about 150 values, and each item of it a dozen more."""
_MASK: Final = "***"

T = TypeVar("T")


class Client:
    """Calls the service for one project. Safe to use from several threads; close it, or use it in ``with``.

    Every method raises a `CheckoutError` when the call does not succeed.

    Args:
        config: the project and its service.
        session: a session whose proxies, certificates, headers and mounted adapters are used (`transport.Transport`).
        pace: decides when a call may be sent, and is informed of each 429 (`pace.Pace`).

    """

    def __init__(
        self, config: ClientConfig, session: requests.Session | None = None, *, pace: Pace | None = None
    ) -> None:
        self._config, self._pace = config, pace
        self._transport = Transport(session, pace.slow_down if pace else lambda seconds: None)
        self._keys = Keys(config.keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the open connections."""
        self._transport.close()

    def within(self, seconds: float) -> Self:
        """Return a client of the same connections, each of whose calls ends after so many seconds."""
        other = copy(self)
        vars(other)["_config"] = replace(self._config, timeout=seconds)
        return other

    def request(
        self,
        method: Literal["GET", "POST"],
        path: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        json: Document | None = None,
        at: Literal["base_url", "checkout_url", "list_url"] = "base_url",
        auth: Literal["signature", "basic"] = "signature",
    ) -> JsonValue:
        """Send a request that no other method has, with the key of the project; return the JSON of the response.

        Numbers with a fraction are Decimals. A GET is repeated within the deadline, a POST is sent exactly once.

        Args:
            method: "POST" sends ``json``, "GET" sends ``params``.
            path: path below the address, with a slash first. It has no id in it that must not reach a log.
            params: the query of a GET.
            json: the body of a POST, an object; Decimals are written as numbers.
            at: the setting that has the address.
            auth: "signature" for the header X-API-SIGNATURE (AUT-02), "basic" for HTTP Basic (AUT-07).

        Raises:
            ValueError: the path has no slash first, or body or query do not belong to the method. Nothing was sent.
            CheckoutError: the call did not succeed.

        """
        if (
            not path.startswith("/")
            or (json is not None) != (method == "POST")
            or (params and method == "POST")
        ):
            raise ValueError('A path begins with "/"; a POST has json and no params, a GET has no json.')
        endpoint = Endpoint(method=method, path=path, base=at, auth=auth, repeatable=method == "GET")
        if json is not None:
            return self._create(endpoint, json, lambda value: value)
        return self._read(endpoint, self._get(endpoint, params), _document(lambda value: value))

    def create_token(self, request: TokenRequest) -> TokenResponse:
        """Create a payment token (EP1-01). Repeated on network failures, 429 and 5xx, within the deadline.

        Raises CreationError before anything is sent when the request breaks a rule.
        """
        return self._create(TOKENS, build_token_document(request), parse_token_response)

    def create_order(self, request: OrderRequest) -> OrderResponse:
        """Create a payment order (EP2-01). Sent exactly once: each request makes another order.

        Raises CreationError before anything is sent when the request breaks a rule. When the exception's
        ``outcome_unknown`` is true, the order may exist; find it by a reference in its metadata.
        """
        return self._create(ORDER, build_order_document(request), parse_order_response)

    def create_order_from_token(self, token: str) -> OrderResponse:
        """Create a payment order from the content of a token: the body is the token alone (EP6-05, EP2-12, EP1-24)."""
        return self.create_order(OrderRequest(token=token))

    def list_transactions(self, query: TransactionFilter) -> TransactionPage:
        """Return one page of the transaction list (EP3-01)."""
        pairs = query_pairs(
            query,
            end_parameter=self._config.list_end_parameter,
            array_style=self._config.list_array_style,
        )
        answer = self._get(TRANSACTIONS, pairs)
        date = _moment_of_header(answer.headers.get("Date"))
        return self._read(
            TRANSACTIONS,
            answer,
            lambda body, most_values: parse_transaction_page(body, date=date, most_values=most_values),
            rows=query.limit or TRANSACTIONS_LIMIT_DEFAULT,
        )

    def iter_transaction_pages(self, query: TransactionFilter) -> Iterator[TransactionPage]:
        """Yield all pages from the filter's offset on, by overlapping reads: no row is lost, rows may repeat.

        Raises ValueError for a limit of 1, with which pages cannot overlap.
        """
        if query.limit is not None and query.limit < PAGE_SIZE_MIN:
            raise ValueError(f"the limit must be at least {PAGE_SIZE_MIN}, so that pages can overlap")
        return chained_pages(
            lambda offset: self._page(replace(query, offset=offset)), start=query.offset or 0
        )

    def _page(self, query: TransactionFilter) -> TransactionPage:
        """Return a page; where a pace is shared, after the pause that the service demands, once more."""
        try:
            return self.list_transactions(query)
        except TooManyRequests:
            if self._pace is None:
                raise
            return self.list_transactions(query)

    def iter_transactions(self, query: TransactionFilter) -> Iterator[Order]:
        """Yield all rows, each identifier once. It stores every identifier: for very long lists use the pages."""
        seen: set[str] = set()
        for page in self.iter_transaction_pages(query):
            for order in page.items:
                if order.id is None or order.id not in seen:
                    seen.add(order.id or "")
                    yield order

    def list_page(
        self,
        path: str,
        *,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> CursorPage:
        """Return one page of a generic list with cursors (EP4-01 to EP4-04, LST-01 to LST-05).

        Args:
            path: path of the list below the list address, for instance ``/api/v1/orders``.
            limit: size of the page, 1 to 100; the service's own default when it is left out.
            starting_after: identifier of an element; the page after it is returned.
            ending_before: identifier of an element; the page before it is returned.

        Raises:
            ValueError: a limit outside 1 to 100, or both cursors at once. Nothing was sent.
            CheckoutError: the call did not succeed.

        """
        pairs = cursor_pairs(limit=limit, starting_after=starting_after, ending_before=ending_before)
        endpoint = replace(TRANSACTIONS, path=path)
        return self._read(
            endpoint, self._get(endpoint, pairs), _document(parse_cursor_page), rows=CURSOR_LIMIT_MAX
        )

    def iter_list(self, path: str, *, limit: int = CURSOR_LIMIT_MAX) -> Iterator[Document]:
        """Yield all elements of a generic list below the list address, page after page (EP4-01 to EP4-04)."""
        after: str | None = None
        while True:
            page = self.list_page(path, limit=limit, starting_after=after)
            yield from page.data
            if not page.has_more:
                return
            after = _next_cursor(path, page, after)

    def _create(self, endpoint: Endpoint, document: Document, parse: Callable[[JsonValue], T]) -> T:
        def request(key: Secret) -> requests.Request:
            prepared = request_with_headers(self._config, endpoint, key)
            prepared.data = dumps(document).encode()
            prepared.headers["Content-Type"] = "application/json"  # SVC-08
            return prepared

        return self._read(endpoint, self._exchange(endpoint, request, ANSWER_BYTES_MAX), _document(parse))

    def _get(self, endpoint: Endpoint, pairs: Sequence[tuple[str, str]]) -> RawResponse:
        def request(key: Secret) -> requests.Request:
            prepared = request_with_headers(self._config, endpoint, key)
            prepared.params = list(pairs)
            return prepared

        return self._exchange(endpoint, request, PAGE_BYTES_MAX)

    def _exchange(
        self, endpoint: Endpoint, request: Callable[[Secret], requests.Request], limit: int
    ) -> RawResponse:
        """Send the request; where the service refuses the key, once with each other key, within one deadline."""
        # Of the paths a shop may choose some itself, with ids in them.
        known = endpoint.path if endpoint in {TOKENS, ORDER, TRANSACTIONS} else "other"
        with telemetry.timed(telemetry.CALL, endpoint=known) as measured:
            answer = self._exchange_with_keys(endpoint, request, limit)
            measured["outcome"] = "succeeded" if is_success(answer.status) else "refused"
            telemetry.describe(
                {"http.request.method": endpoint.method, "http.response.status_code": answer.status}
            )
        return answer

    def _exchange_with_keys(
        self, endpoint: Endpoint, request: Callable[[Secret], requests.Request], limit: int
    ) -> RawResponse:
        if self._pace is not None:
            self._pace.wait()
        end = monotonic() + self._config.timeout
        refusal: RawResponse | None = None
        for number, key in self._keys.in_turn():
            if refusal is not None and monotonic() >= end:
                break
            seconds = end - monotonic()
            answer = self._transport.exchange(endpoint, request(key), limit=limit, seconds=seconds)
            if not refuses_key(endpoint, answer, self._config.credential_codes):
                if refusal is not None:
                    self._keys.accept(endpoint, number)
                return answer
            refusal = refusal or answer
        assert refusal is not None  # there is at least one key
        return refusal

    def _read(
        self, endpoint: Endpoint, answer: RawResponse, parse: Callable[[bytes, int], T], *, rows: int = 0
    ) -> T:
        if not is_success(answer.status):
            error = self._masked(parse_error(answer.body))
            raise error_of(endpoint, answer.status, error, self._config.credential_codes)
        try:
            most_values = max(MAX_VALUES, rows * ROW_VALUES_MAX)
            result = parse(answer.body, most_values)
            self._require_secure_form(result)
        except (StrictJsonError, MalformedResponse) as error:
            raise ResponseUnreadable(
                f"the answer of {endpoint.method} {endpoint.path} was not understood: {error}",
                retry_is_safe=endpoint.repeatable,
                outcome_unknown=not endpoint.repeatable,
            ) from None
        return result

    def _require_secure_form(self, result: Any) -> None:
        # SVC-05: customers are sent to this address.
        address = getattr(result, "payment_form_url", None)
        if address and not is_secure(address, **self._config.plain_http):
            raise MalformedResponse("the payment_form_url of the answer is not HTTPS")

    def _masked(self, error: ErrorObject) -> ErrorObject:
        """Mask our credentials where the service repeats them: they must not reach a log through our exception."""
        keys = [key.reveal() for key in self._config.keys]
        basic = [f"{self._config.project_id}:{key}".encode() for key in keys]
        secrets = [*keys, *(base64.b64encode(pair).decode() for pair in basic)]

        def mask(text: str) -> str:
            for secret in secrets:
                text = text.replace(secret, _MASK)
            return text

        return ErrorObject(code=mask(error.code), message=mask(error.message), details=mask(error.details))


def _moment_of_header(value: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value or "")
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _document(parse: Callable[[JsonValue], T]) -> Callable[[bytes, int], T]:
    """Return a function that reads a response body: it loads the JSON and calls ``parse``."""
    return lambda body, most_values: parse(loads(body, most_values=most_values, tolerant=True))


def _next_cursor(path: str, page: CursorPage, previous: str | None) -> str:
    last = page.data[-1].get("id") if page.data else None
    if not isinstance(last, str) or not last or last == previous:
        raise ResponseUnreadable(
            f"{path}: has_more is true but the page has no cursor",
            retry_is_safe=True,
        )
    return last
