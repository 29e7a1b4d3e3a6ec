"""Every fault that can be switched on: where it strikes, and what happens then."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from checkout_integration.protocol.vocabulary import Event


class FaultPoint(StrEnum):
    """The point at which a fault occurs."""

    API = "api"
    LIST = "list"
    NOTIFICATION = "notification"
    VALIDATION = "validation"


class FaultKind(StrEnum):
    """The kind of a fault."""

    TOO_MANY_REQUESTS = "too_many_requests"
    SERVER_ERROR = "server_error"
    SLOW = "slow"
    SILENT = "silent"
    DRIPPING = "dripping"
    CUT = "cut"
    CUT_GZIP = "cut_gzip"
    CUT_GZIP_UNNOTICED = "cut_gzip_unnoticed"
    NOT_JSON = "not_json"
    WRONG_TYPES = "wrong_types"
    HTML = "html"
    EMPTY = "empty"
    LOST_AFTER_COMMIT = "lost_after_commit"
    REDIRECT = "redirect"
    OTHER_SUCCESS = "other_success"

    SHIFTED_PAGES = "shifted_pages"
    LYING_COUNT = "lying_count"
    CAPPED_LIMIT = "capped_limit"
    NULL_ITEMS = "null_items"
    UNORDERED_TIES = "unordered_ties"
    STALE_ROWS = "stale_rows"

    DROP = "drop"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    DELAY = "delay"
    UNHEARD = "unheard"
    BAD_SIGNATURE = "bad_signature"
    BASE64_SIGNATURE = "base64_signature"
    GZIP = "gzip"
    GZIP_SIGNED_AS_SENT = "gzip_signed_as_sent"
    CHUNKED = "chunked"
    OLD_SHAPE = "old_shape"


_OF_REQUESTS: Final = {
    FaultKind.BAD_SIGNATURE: "signed with a wrong key",
    FaultKind.BASE64_SIGNATURE: "signed with the right key, the hash written as Base64",
    FaultKind.GZIP: "the body is compressed; the JSON in it is signed",
    FaultKind.GZIP_SIGNED_AS_SENT: "the body is compressed; the compressed bytes are signed",
    FaultKind.CHUNKED: "the body comes in chunks, without a length",
}
KINDS: Final[dict[FaultPoint, dict[FaultKind, str]]] = {
    FaultPoint.API: {
        FaultKind.TOO_MANY_REQUESTS: "429; with a Retry-After of `seconds`, without one when that is 0",
        FaultKind.SERVER_ERROR: "`status` with an error object",
        FaultKind.SLOW: "the request is worked on after `seconds`, or when the client has gone",
        FaultKind.SILENT: "the request is read and never answered",
        FaultKind.DRIPPING: "the answer comes byte by byte, `seconds` apart",
        FaultKind.CUT: "the connection ends after half of the answer",
        FaultKind.CUT_GZIP: "the same, of a compressed answer",
        FaultKind.CUT_GZIP_UNNOTICED: "a compressed answer without its checksum; its length says that all is there",
        FaultKind.NOT_JSON: "200 with a text that is no JSON",
        FaultKind.WRONG_TYPES: "200 with the right names, and values of other types",
        FaultKind.HTML: "200 with a web page",
        FaultKind.EMPTY: "200 without a body",
        FaultKind.LOST_AFTER_COMMIT: "the work is done, and the connection ends without an answer",
        FaultKind.REDIRECT: "`status` 301, 302, 303, 307 or 308 to the same path at `target`",
        FaultKind.OTHER_SUCCESS: "`status` 201 or 202 in the place of 200",
    },
    FaultPoint.LIST: {
        FaultKind.SHIFTED_PAGES: "`number` rows leave the list's beginning after each request",
        FaultKind.LYING_COUNT: "`count` is `number`, whatever there is",
        FaultKind.CAPPED_LIMIT: "no page has more than `number` rows, whatever `limit` is requested",
        FaultKind.NULL_ITEMS: "`items` is null, although `count` says that there are rows",
        FaultKind.UNORDERED_TIES: "rows of one second change places at each request",
        FaultKind.STALE_ROWS: "rows are as they were when the fault was switched on",
    },
    FaultPoint.NOTIFICATION: {
        FaultKind.DROP: "the message is lost for ever",
        FaultKind.DUPLICATE: "the message is sent twice in a row",
        FaultKind.REORDER: "the message waits until the next one of its order has been sent, `seconds` at most",
        FaultKind.DELAY: "the message is sent `seconds` later, in virtual time",
        FaultKind.SLOW: "the message is sent `seconds` later, in real time",
        FaultKind.UNHEARD: "the message arrives, and its answer is lost: it comes again",
        **_OF_REQUESTS,
        FaultKind.OLD_SHAPE: "times as seconds and nanos, money as text, fields that nobody knows, others missing",
    },
    FaultPoint.VALIDATION: {
        FaultKind.DROP: "the question never arrives: the payment is refused",
        FaultKind.DUPLICATE: "the request is sent twice in a row; the second response counts",
        FaultKind.SLOW: "the request is sent `seconds` later, in real time, while the customer waits",
        FaultKind.UNHEARD: "the question arrives, and its answer comes too late: the payment is refused",
        **_OF_REQUESTS,
    },
}
_PAYMENT_EVENTS: Final = tuple(event for event in Event if event is not Event.USER_VALIDATE)
SUBJECTS: Final[dict[FaultPoint, tuple[str, ...]]] = {
    FaultPoint.API: ("tokens", "order", "transactions", "orders"),
    FaultPoint.LIST: ("transactions",),
    FaultPoint.NOTIFICATION: _PAYMENT_EVENTS,
    FaultPoint.VALIDATION: (Event.USER_VALIDATE,),
}
"""The subjects that a rule can be limited to."""
REDIRECTS: Final = (301, 302, 303, 307, 308)
STATUSES: Final = {
    FaultKind.SERVER_ERROR: range(400, 600),
    FaultKind.REDIRECT: REDIRECTS,
    FaultKind.OTHER_SUCCESS: (201, 202),
}
"""The statuses that a kind can respond with."""
LONGEST_WAIT: Final = 600.0
"""Seconds after which a wait for a client, or for a following notification, ends."""
