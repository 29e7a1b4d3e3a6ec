"""What the SDK of OpenTelemetry measured, in memory: for the whole process, since it takes one provider."""

from __future__ import annotations

from functools import cache

from opentelemetry import metrics, trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY
from prometheus_client.samples import Sample

from checkout_integration import gauges

SCOPE_LABELS = ("otel_scope_",)


@cache
def _exporter() -> InMemorySpanExporter:
    """Set the providers, as a host does once."""
    exporter, tracer = InMemorySpanExporter(), TracerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracer)
    metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))
    return exporter


class Measured:
    """Metrics and spans since the beginning of a test."""

    def __init__(self) -> None:
        _exporter().clear()
        self._before = {_key(sample): sample.value for sample in self.samples()}

    def spans(self, name: str) -> list[ReadableSpan]:
        """Return the finished spans of a name, in the order of their ends."""
        return [span for span in _exporter().get_finished_spans() if span.name == name]

    def samples(self, name: str = "") -> list[Sample]:
        """Return what Prometheus would read now, of one name or of all of ours."""
        gauges.ThisProcess.health = None
        found = [sample for family in REGISTRY.collect() for sample in family.samples]
        return [each for each in found if (each.name == name if name else each.name.startswith("checkout_"))]

    def value(self, name: str, **labels: str) -> float | None:
        """Return a gauge's value; None if it has none with these labels."""
        found = [each for each in self.samples(name) if labels.items() <= each.labels.items()]
        return found[0].value if found else None

    def added(self, name: str) -> dict[tuple[str, ...], float]:
        """Return what was added to a counter since the beginning, by the values of its labels, sorted by their names."""
        added = {labels_of(each): each.value - self._before.get(_key(each), 0) for each in self.samples(name)}
        return {labels: number for labels, number in added.items() if number}


def labels_of(sample: Sample) -> tuple[str, ...]:
    """Return the values of a sample's own labels."""
    own = {name: text for name, text in sample.labels.items() if not name.startswith(SCOPE_LABELS)}
    return tuple(text for _, text in sorted(own.items()))


def _key(sample: Sample) -> tuple[str, tuple[tuple[str, str], ...]]:
    return sample.name, tuple(sorted(sample.labels.items()))
