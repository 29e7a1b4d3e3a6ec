"""The client: one method per operation of the specification (SVC-01, SVC-02, SVC-04).

Nothing else is shown, so nothing else is called: no refund (STA-10), no product (RFD-07), no single order (EP4-05).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import requests
from requests.auth import HTTPBasicAuth

from checkout_integration.client.config import ClientConfig
from checkout_integration.client.errors import AnswerUnreadable, answered
from checkout_integration.client.paging import PAGE_SIZE_MIN, chained_pages
from checkout_integration.client.rotation import Keys, refuses_key
from checkout_integration.client.transport import Answer, SignatureAuth, Transport
from checkout_integration.protocol.address import is_secure
from checkout_integration.protocol.answers import (
    MalformedAnswer,
    OrderAnswer,
    TokenAnswer,
    parse_order_answer,
    parse_token_answer,
)
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
from checkout_integration.protocol.strict_json import MAX_VALUES, JsonValue, StrictJsonError, dumps, loads
from checkout_integration.protocol.values import Document, Secret
from checkout_integration.protocol.vocabulary import (
    API_SIGNATURE_HEADER,
    CURSOR_LIMIT_MAX,
    TRANSACTIONS_LIMIT_DEFAULT,
)

ANSWER_BYTES_MAX: Final = 256 * 1024
PAGE_BYTES_MAX: Final = 7 * 1024 * 1024
"""A thousand rows, the largest page, of 7 kB each; while they are put together they are held twice."""
ROW_VALUES_MAX: Final = 1_000
"""Of a page's rows on average; an order has about 150 values, and each item of it a dozen more."""
_MASK: Final = "***"

T = TypeVar("T")


class Client:
    """Calls the service for one project. Safe to use from several threads; close it, or use it in ``with``.

    Every method raises `CheckoutError` in one of its forms when the call did not succeed.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._transport = Transport()
        self._keys = Keys(config.keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._transport.close()

    def create_token(self, request: TokenRequest) -> TokenAnswer:
        """Create a payment token (EP1-01). Repeated on network failures, 429 and 5xx, within the deadline.

        Raises CreationError before anything is sent when the request breaks a rule.
        """
        return self._create(TOKENS, build_token_document(request), parse_token_answer)

    def create_order(self, request: OrderRequest) -> OrderAnswer:
        """Create a payment order (EP2-01). Sent exactly once: each request makes another order.

        Raises CreationError before anything is sent when the request breaks a rule. When the exception's
        ``outcome_unknown`` is true, the order may exist; find it by a reference in its metadata.
        """
        return self._create(ORDER, build_order_document(request), parse_order_answer)

    def create_order_from_token(self, token: str) -> OrderAnswer:
        """Create a payment order from what a token holds: the body is the token alone (EP6-05, EP2-12, EP1-24)."""
        return self.create_order(OrderRequest(token=token))

    def list_transactions(self, query: TransactionFilter) -> TransactionPage:
        """One page of the transaction list (EP3-01)."""
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
            lambda document: parse_transaction_page(document, date=date),
            rows=query.limit or TRANSACTIONS_LIMIT_DEFAULT,
        )

    def iter_transaction_pages(self, query: TransactionFilter) -> Iterator[TransactionPage]:
        """All pages from the filter's offset on, by overlapping reads: no row is lost, rows may repeat.

        Raises ValueError for a limit of 1, with which pages cannot overlap.
        """
        if query.limit is not None and query.limit < PAGE_SIZE_MIN:
            raise ValueError(f"the limit must be at least {PAGE_SIZE_MIN}, so that pages can overlap")
        return chained_pages(
            lambda offset: self.list_transactions(replace(query, offset=offset)), start=query.offset or 0
        )

    def iter_transactions(self, query: TransactionFilter) -> Iterator[Order]:
        """All rows, each identifier once. Remembers every identifier; for very long lists take the pages."""
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
            limit: size of the page, 1 to 100; the service's own where it is left out.
            starting_after: identifier of the last element of the previous page: the page after it.
            ending_before: identifier of the first element of the next page: the page before it.

        Raises:
            ValueError: a limit outside 1 to 100, or both cursors at once. Nothing was sent.
            CheckoutError: the call did not succeed.

        """
        pairs = cursor_pairs(limit=limit, starting_after=starting_after, ending_before=ending_before)
        endpoint = replace(TRANSACTIONS, path=path)
        return self._read(endpoint, self._get(endpoint, pairs), parse_cursor_page, rows=CURSOR_LIMIT_MAX)

    def iter_list(self, path: str, *, limit: int = CURSOR_LIMIT_MAX) -> Iterator[Document]:
        """All elements of a generic list below the list address, page after page (EP4-01 to EP4-04)."""
        after: str | None = None
        while True:
            page = self.list_page(path, limit=limit, starting_after=after)
            yield from page.data
            if not page.has_more:
                return
            after = _next_cursor(path, page, after)

    def _create(self, endpoint: Endpoint, document: Document, parse: Callable[[JsonValue], T]) -> T:
        def request(key: Secret) -> requests.Request:
            prepared = self._request(endpoint, key)
            prepared.data = dumps(document).encode()
            prepared.headers["Content-Type"] = "application/json"  # SVC-08
            return prepared

        return self._read(endpoint, self._exchange(endpoint, request, ANSWER_BYTES_MAX), parse)

    def _get(self, endpoint: Endpoint, pairs: Sequence[tuple[str, str]]) -> Answer:
        def request(key: Secret) -> requests.Request:
            prepared = self._request(endpoint, key)
            prepared.params = list(pairs)
            return prepared

        return self._exchange(endpoint, request, PAGE_BYTES_MAX)

    def _exchange(
        self, endpoint: Endpoint, request: Callable[[Secret], requests.Request], limit: int
    ) -> Answer:
        """Send the request; where the service refuses the key, once with each other key, within one deadline."""
        end = monotonic() + self._config.timeout
        refusal: Answer | None = None
        for number, key in self._keys.in_turn():
            if refusal is not None and monotonic() >= end:
                break
            seconds = end - monotonic()
            answer = self._transport.exchange(endpoint, request(key), limit=limit, seconds=seconds)
            if not refuses_key(endpoint, answer):
                if refusal is not None:
                    self._keys.accept(endpoint, number)
                return answer
            refusal = refusal or answer
        assert refusal is not None  # there is at least one key
        return refusal

    def _request(self, endpoint: Endpoint, key: Secret) -> requests.Request:
        config = self._config
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",  # SVC-07
            "User-Agent": "checkout-integration",
            config.version_header: config.api_version,  # VER-02
        }
        auth = (
            SignatureAuth(API_SIGNATURE_HEADER, key.reveal)  # AUT-02
            if endpoint.auth == "signature"
            else HTTPBasicAuth(config.project_id.encode(), key.reveal().encode())  # AUT-03
        )
        address = getattr(config, endpoint.base) + endpoint.path
        return requests.Request(endpoint.method, address, headers=headers, auth=auth)

    def _read(
        self, endpoint: Endpoint, answer: Answer, parse: Callable[[JsonValue], T], *, rows: int = 0
    ) -> T:
        if answer.status // 100 != 2:  # SVC-06; each of 200, 201 and 202 is success (HTT-02 to HTT-04)
            raise answered(endpoint, answer.status, self._masked(parse_error(answer.body)))
        try:
            most_values = max(MAX_VALUES, rows * ROW_VALUES_MAX)
            result = parse(loads(answer.body, most_values=most_values, leave_out_numbers=True))
            self._require_secure_form(result)
        except (StrictJsonError, MalformedAnswer) as error:
            raise AnswerUnreadable(
                f"the answer of {endpoint.method} {endpoint.path} was not understood: {error}",
                retry_is_safe=endpoint.repeatable,
                outcome_unknown=not endpoint.repeatable,
            ) from None
        return result

    def _require_secure_form(self, result: Any) -> None:
        # SVC-05: customers are sent to this address.
        address = getattr(result, "payment_form_url", None)
        if address and not is_secure(address, loopback=self._config.allow_http_loopback):
            raise MalformedAnswer("the payment_form_url of the answer is not HTTPS")

    def _masked(self, error: ErrorObject) -> ErrorObject:
        """A service that repeats our credentials must not bring them into a log through our exception."""
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


def _next_cursor(path: str, page: CursorPage, previous: str | None) -> str:
    last = page.data[-1].get("id") if page.data else None
    if not isinstance(last, str) or last == previous:
        raise AnswerUnreadable(
            f"{path}: has_more is true but the page has no cursor",
            retry_is_safe=True,
        )
    return last
