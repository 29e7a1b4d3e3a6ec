"""Metrics and spans of OpenTelemetry, if its API is installed; without it these functions do nothing (docs/metrics.md).

Attributes of metrics have few values: aliases of projects, names of signals, words of ours. Spans may also have ids. Neither
has personal data, a secret, or the message of an exception.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

try:
    from opentelemetry import metrics, trace
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Counter, Histogram
    from opentelemetry.trace import Span

logger = logging.getLogger("checkout_integration.telemetry")
SCOPE: Final = "checkout_integration"
ACCEPT: Final = "accept"
APPLY: Final = "apply"
RECEIVER: Final = "receiver"
CALL: Final = "call"
STEPS: Final[Mapping[str, str]] = {
    ACCEPT: "From a request to its response, by outcome (stored, refused, unavailable).",
    APPLY: "One batch of notifications, in one transaction, by outcome (succeeded, failed).",
    RECEIVER: "One call of a receiver of yours, by signal and outcome (succeeded, failed).",
    CALL: "One call of the service with its retries, by endpoint and outcome (succeeded, refused, failed).",
}
"""Steps whose time is measured: each has the span ``checkout.<step>`` and the histogram ``checkout.<step>.duration``."""

ACCEPTED: Final = "checkout.requests.accepted"
REFUSED: Final = "checkout.requests.refused"
APPLIED: Final = "checkout.notifications.applied"
FAILED: Final = "checkout.notifications.failed"
RUNS: Final = "checkout.receivers.runs"
PASSES: Final = "checkout.sync.passes"
ROWS_READ: Final = "checkout.sync.rows.read"
ROWS_CHANGED: Final = "checkout.sync.rows.changed"
COUNTERS: Final[Mapping[str, tuple[str, str]]] = {
    ACCEPTED: (
        "{request}",
        "Requests that were stored and acknowledged, by event and delivery (first or retry).",
    ),
    REFUSED: ("{request}", "Requests that were refused and not stored, by reason."),
    APPLIED: ("{notification}", "Notifications that were applied, by outcome (changed or unchanged)."),
    FAILED: (
        "{notification}",
        "Notifications that could not be applied, by outcome (failed or quarantined).",
    ),
    RUNS: (
        "{run}",
        "Attempts of receivers, by signal and outcome (succeeded, failed, given_up, superseded).",
    ),
    PASSES: ("{pass}", "Passes of the sync that ended, by lane and outcome (a state of the sync run)."),
    ROWS_READ: ("{row}", "Rows of the transaction list that were read, by lane."),
    ROWS_CHANGED: ("{row}", "Orders whose status or verdict a row of the list changed, by lane."),
}
"""Unit and meaning of each counter."""
GAUGES: Final[Mapping[str, tuple[str, str]]] = {
    "checkout.health": (
        "",
        "What health says of each finding: 0 ok, 1 warning, 2 failing, -1 not known yet. Health has their names.",
    ),
    "checkout.queue.length": ("{row}", "Work that is due, by step (apply, run)."),
    "checkout.queue.age": ("s", "For how long the oldest work has been due, by step."),
    "checkout.receivers": ("{run}", "Receiver runs, by state (failing, given_up, running, overdue)."),
    "checkout.notifications.silence": ("s", "Time since the last notification."),
    "checkout.notifications.waiting": (
        "{notification}",
        "Notifications that are not applied, by state (failed, quarantined).",
    ),
    "checkout.sync.age": ("s", "Time since the transaction list was read to its end, by lane."),
    "checkout.incidents.open": ("{incident}", "Open incidents."),
}
"""Unit and meaning of each gauge; `gauges` reads them from health."""
BUCKETS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
"""Limits of the histograms' buckets, in seconds."""
Attributes: TypeAlias = dict[str, str]
Reading: TypeAlias = tuple[float, Attributes]
_counters: dict[str, Counter] = {}
_histograms: dict[str, Histogram] = {}

if IS_INSTALLED:
    # Before the host has set a provider these are stand-ins, which the API replaces then.
    _meter, _tracer = metrics.get_meter(SCOPE), trace.get_tracer(SCOPE)
    for _name, (_unit, _text) in COUNTERS.items():
        _counters[_name] = _meter.create_counter(_name, unit=_unit, description=_text)
    for _name, _text in STEPS.items():
        _histograms[_name] = _meter.create_histogram(
            f"checkout.{_name}.duration",
            unit="s",
            description=_text,
            explicit_bucket_boundaries_advisory=BUCKETS,
        )


def count(counter: str, number: int = 1, /, **attributes: str) -> None:
    """Add to one of `COUNTERS`. Call it after the commit of what it counts."""
    if IS_INSTALLED:
        with _guarded():
            _counters[counter].add(number, attributes)


@contextmanager
def timed(step: str, **attributes: str) -> Iterator[Attributes]:
    """Measure one of `STEPS` and give it a span; yield the attributes of both, to which the caller may add.

    ``outcome`` is "succeeded", or "failed" where an exception leaves the block: of that the span has the class alone.
    """
    measured = {**attributes, "outcome": "succeeded"}
    if not IS_INSTALLED:
        yield measured
        return
    kind = trace.SpanKind.CLIENT if step == CALL else trace.SpanKind.INTERNAL
    begun, scope = time.perf_counter(), ExitStack()
    span: Span = trace.INVALID_SPAN
    with _guarded():
        # An exception's message may have personal data, so the API must not record it.
        started = _tracer.start_as_current_span(
            f"checkout.{step}", kind=kind, record_exception=False, set_status_on_exception=False
        )
        span = scope.enter_context(started)
    try:
        yield measured
    except BaseException as error:
        measured["outcome"] = "failed"
        with _guarded():
            span.set_status(trace.StatusCode.ERROR)
            span.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        with _guarded():
            span.set_attributes(measured)
            _histograms[step].record(time.perf_counter() - begun, measured)
        with _guarded():
            scope.close()


def describe(attributes: Mapping[str, str | int]) -> None:
    """Add attributes to the current span alone: ids, for which metrics have no place."""
    if IS_INSTALLED:
        with _guarded():
            trace.get_current_span().set_attributes(attributes)


@contextmanager
def _guarded() -> Iterator[None]:
    """Let no failure of the host's telemetry reach the payment that is measured."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # the host's own exporters, samplers and processors
        logger.debug("OpenTelemetry failed (%s); what it measures goes on.", type(error).__name__)


def observe(gauge: str, read: Callable[[], Iterable[Reading]]) -> None:
    """Let one of `GAUGES` be read by a function, whenever the host collects its metrics."""
    if IS_INSTALLED:

        def observations(options: CallbackOptions) -> Iterator[metrics.Observation]:
            return (metrics.Observation(value, attributes) for value, attributes in read())

        unit, text = GAUGES[gauge]
        _meter.create_observable_gauge(gauge, [observations], unit=unit, description=text)
