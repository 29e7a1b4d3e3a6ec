"""What each fault of the sandbox must end in: the one table behind the tests and behind docs/fault-table.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CALLS = ("create_token", "create_order", "list_transactions", "iter_transactions")
UNTOUCHED = ("a token, 1", "an order, 1", "first page, 1", "all rows, 4")


@dataclass(frozen=True, kw_only=True)
class ApiRow:
    """An API or list fault and how each of the four calls ends under it: outcome and number of requests.

    ``waits``: the call can only end by its deadline, so the test gives it a short one.
    ``orders``: how many orders `create_order` left at the service.
    """

    name: str
    rule: Mapping[str, Any]
    ends: tuple[str, str, str, str]
    orders: int = 0
    waits: bool = False


def api(name: str, kind: str, *ends: str, orders: int = 0, waits: bool = False, **more: Any) -> ApiRow:
    """Make a row of an API fault."""
    token, order, page, pages = ends
    rule = {"point": "api", "kind": kind, **more}
    return ApiRow(name=name, rule=rule, ends=(token, order, page, pages), orders=orders, waits=waits)


def listed(name: str, kind: str, page: str, pages: str, **more: Any) -> ApiRow:
    """Make a row of a list fault, which the two creations do not notice."""
    rule = {"point": "list", "kind": kind, **more}
    return ApiRow(name=name, rule=rule, ends=("a token, 0", "an order, 0", page, pages), orders=1)


def _failing(error: str, tries: int = 5) -> tuple[str, str, str, str]:
    again = f"{error}, {tries}"
    return (again, f"{error}, 1", again, again)


API_ROWS: Sequence[ApiRow] = (
    api("429", "too_many_requests", *_failing("TooManyRequests")),
    api(
        "429 with Retry-After beyond the deadline",
        "too_many_requests",
        *_failing("TooManyRequests", 1),
        seconds=60,
        waits=True,
    ),
    api(
        "429 once, with Retry-After",
        "too_many_requests",
        "a token, 2",
        "TooManyRequests, 1",
        "first page, 2",
        "all rows, 5",
        times=1,
        seconds=1,
    ),
    api(
        "429 once",
        "too_many_requests",
        "a token, 2",
        "TooManyRequests, 1",
        "first page, 2",
        "all rows, 5",
        times=1,
    ),
    api(
        "500",
        "server_error",
        "InternalError, 5",
        "InternalError, 1",
        "ListFailed, 5",
        "ListFailed, 5",
        status=500,
    ),
    api("502", "server_error", *_failing("BadGateway"), status=502),
    api("503", "server_error", *_failing("ServiceUnavailable"), status=503),
    api("504", "server_error", *_failing("GatewayTimeout"), status=504),
    api(
        "503 once",
        "server_error",
        "a token, 2",
        "ServiceUnavailable, 1",
        "first page, 2",
        "all rows, 5",
        status=503,
        times=1,
    ),
    api("slow, within the deadline", "slow", *UNTOUCHED, seconds=0.05, orders=1),
    api(
        "slow, beyond the deadline",
        "slow",
        *_failing("DeadlineExceeded", 1),
        seconds=30,
        orders=1,
        waits=True,
    ),
    api("never responds", "silent", *_failing("DeadlineExceeded", 1), waits=True),
    api("dripping", "dripping", *_failing("DeadlineExceeded", 1), seconds=0.2, orders=1, waits=True),
    api("cut", "cut", *_failing("ServiceUnreachable", 1), orders=1),
    api("cut, compressed", "cut_gzip", *_failing("ServiceUnreachable", 1), orders=1),
    api(
        "cut, compressed, unnoticed by HTTP",
        "cut_gzip_unnoticed",
        *_failing("ResponseUnreadable", 1),
        orders=1,
    ),
    api("not JSON", "not_json", *_failing("ResponseUnreadable", 1), orders=1),
    api("wrong JSON types", "wrong_types", *_failing("ResponseUnreadable", 1), orders=1),
    api("HTML", "html", *_failing("ResponseUnreadable", 1), orders=1),
    api("empty", "empty", *_failing("ResponseUnreadable", 1), orders=1),
    api("lost after commit", "lost_after_commit", *_failing("ServiceUnreachable"), orders=1),
    api(
        "lost after commit once",
        "lost_after_commit",
        "a token, 2",
        "ServiceUnreachable, 1",
        "first page, 2",
        "all rows, 5",
        times=1,
        orders=1,
    ),
    *(
        api(f"redirect {status}", "redirect", *_failing("RedirectRefused", 1), status=status)
        for status in (301, 302, 303, 307, 308)
    ),
    api("201 in the place of 200", "other_success", *UNTOUCHED, status=201, orders=1),
    api("202 in the place of 200", "other_success", *UNTOUCHED, status=202, orders=1),
    listed("pages shift", "shifted_pages", "first page, 1", "all rows, 7", number=2),
    listed("count below zero", "lying_count", "first page, 1", "all rows, 6", number=-5),
    listed("count too small", "lying_count", "first page, 1", "all rows, 6", number=3),
    listed("count too large", "lying_count", "first page, 1", "all rows, 8", number=5000),
    listed("limit capped", "capped_limit", "4 rows, 1", "all rows, 6", number=4),
    listed("items null", "null_items", "0 rows, 1", "0 rows, 3"),
    listed("items null once", "null_items", "0 rows, 1", "all rows, 5", times=1),
    listed("items null from the second page on", "null_items", "first page, 1", "6 rows, 5", skip=1),
    listed("items null in the middle", "null_items", "first page, 1", "all rows, 7", times=1, skip=1),
    listed("ties in no order", "unordered_ties", "first page, 1", "all rows, 4"),
    listed("rows of yesterday", "stale_rows", "first page, stale, 1", "all rows, stale, 4"),
)


@dataclass(frozen=True, kw_only=True)
class NotificationRow:
    """A fault of notifications, what happens to a checkout meanwhile, and the state of the shop in the end.

    Attributes:
        story: what happens, in order: actions of the operator, seconds of virtual time, `sync`.
        answers: statuses that the receiver answered, in order.
        status: of the order in the shop; "created" is its first one.
        granted, taken_back: how often receivers of checkout_paid and checkout_reversed ran.
        stored: notifications that the shop has.
        incidents: their kinds.
        settings: of the shop, where they differ.
        profiles: of the sandbox under which it ends so.

    """

    name: str
    rule: Mapping[str, Any]
    story: Sequence[str | int] = ("pay",)
    answers: str = "200"
    status: str = "processed"
    granted: int = 1
    taken_back: int = 0
    stored: int = 1
    incidents: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    profiles: Sequence[str] = ("field", "spec")


def notified(name: str, kind: str, rule: Mapping[str, Any] | None = None, **expected: Any) -> NotificationRow:
    """Make a row of a notification fault."""
    return NotificationRow(
        name=name, rule={"point": "notification", "kind": kind, **(rule or {})}, **expected
    )


SUCCESS_ONCE = {"subject": "payment.success", "times": 1}
BASE64 = {"SIGNATURE_ENCODINGS": ["hex", "base64"]}
NOTIFICATION_ROWS: Sequence[NotificationRow] = (
    notified("duplicated", "duplicate", answers="200 200"),
    notified(
        "reordered: refund before success",
        "reorder",
        SUCCESS_ONCE,
        story=("pay", "refund"),
        answers="200 200",
        status="refunded",
        granted=0,
        stored=2,
    ),
    notified("delayed", "delay", {"seconds": 600}, story=("pay", 600)),
    notified(
        "delayed behind the refund",
        "delay",
        {**SUCCESS_ONCE, "seconds": 600},
        story=("pay", "refund", 600),
        answers="200 200",
        status="refunded",
        granted=0,
        stored=2,
    ),
    notified("dropped", "drop", answers="", status="created", granted=0, stored=0),
    notified("dropped, then sync", "drop", story=("pay", "sync"), answers="", stored=0),
    notified("slow", "slow", {"seconds": 0.1}),
    notified(
        "response lost, sent again", "unheard", {"times": 2}, story=("pay", 600, 600), answers="200 200 200"
    ),
    notified("badly signed", "bad_signature", answers="401", status="created", granted=0, stored=0),
    notified(
        "badly signed once, sent again", "bad_signature", {"times": 1}, story=("pay", 600), answers="401 200"
    ),
    notified(
        "signed in base64, which the shop does not accept",
        "base64_signature",
        answers="401",
        status="created",
        granted=0,
        stored=0,
    ),
    notified("signed in base64, which the shop accepts", "base64_signature", settings=BASE64),
    notified("gzip, its JSON signed", "gzip"),
    notified("gzip, signed as sent", "gzip_signed_as_sent"),
    notified(
        "chunked, to a server that does not say where a body ends",
        "chunked",
        {"times": 1},
        story=("pay", 600),
        answers="411 200",
    ),
    notified("in an old shape", "old_shape"),
    notified(
        "refund in an old shape",
        "old_shape",
        story=("pay", "refund"),
        answers="200 200",
        status="refunded",
        taken_back=1,
        stored=2,
    ),
    notified(
        "chargeback duplicated",
        "duplicate",
        story=("pay", "chargeback"),
        answers="200 200 200 200",
        status="chargeback",
        taken_back=1,
        stored=2,
    ),
    notified(
        "refused until the service gives up, then sync (field)",
        "bad_signature",
        story=("pay", 600, 600, "sync"),
        answers="401 401 401",
        status="rejected",
        granted=0,
        stored=0,
        incidents=("listed_rejected_with_transaction",),
        profiles=("field",),
    ),
    notified(
        "refused until the service gives up, then sync (spec)",
        "bad_signature",
        story=("pay", 600, 600, "sync"),
        answers="401 401 401",
        stored=0,
        profiles=("spec",),
    ),
)


@dataclass(frozen=True, kw_only=True)
class ValidationRow:
    """A fault of user.validate, and the outcome of the payment that waits for its response.

    Attributes:
        answers: statuses that the shop answered, in order.
        outcome: of the payment: paid or refused.
        words: what the form shows the customer then.

    """

    name: str
    rule: Mapping[str, Any]
    answers: str = "200"
    outcome: str = "paid"
    words: str = "Payment successful"
    settings: Mapping[str, Any] = field(default_factory=dict)


def validated(name: str, kind: str, rule: Mapping[str, Any] | None = None, **expected: Any) -> ValidationRow:
    """Make a row of a fault of user.validate."""
    return ValidationRow(name=name, rule={"point": "validation", "kind": kind, **(rule or {})}, **expected)


DENIED: Mapping[str, Any] = {"outcome": "refused", "words": "The seller did not approve this customer."}
UNANSWERED: Mapping[str, Any] = {"outcome": "refused", "words": "The seller did not answer in time."}
VALIDATION_ROWS: Sequence[ValidationRow] = (
    validated("sent twice", "duplicate", answers="200 200"),
    validated("sent late", "slow", {"seconds": 0.1}),
    validated("never arrives", "drop", answers="", **UNANSWERED),
    validated("response lost", "unheard", **UNANSWERED),
    validated("badly signed", "bad_signature", answers="401", **DENIED),
    validated(
        "signed in base64, which the shop does not accept", "base64_signature", answers="401", **DENIED
    ),
    validated("signed in base64, which the shop accepts", "base64_signature", settings=BASE64),
    validated("gzip, its JSON signed", "gzip"),
    validated("gzip, signed as sent", "gzip_signed_as_sent"),
    validated("chunked, to a server that does not say where a body ends", "chunked", answers="411", **DENIED),
)
