"""Parts of the pages: what a shop connects, overrides, calls and catches."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from checkout_integration import errors, flows, hooks, signals, telemetry
from checkout_integration.signals import arguments
from tests.reference.docstrings import attribute_texts, parsed
from tests.reference.markdown import NO_TEXT, anything, function, joined, quoted, section, table, value_class

STAFF: Final = ("operations", "accounting", "sync", "outbox", "privacy", "retention")
"""Rooms of `flows` whose `__all__` staff, commands and monitors call."""
RECEIVER: Final = "arguments"
TERMS: Final = (hooks.CheckoutTerms, hooks.CheckoutArguments)


@section
def signal_arguments() -> str:
    """Return the arguments that several signals have."""
    return joined(
        "### Of every signal",
        _arguments("RunArguments"),
        "### Of every signal about an order",
        "All but `user_validated`, `checkout_abandoned` and the four about the app's own work have these, too.",
        _arguments("OrderArguments"),
        "### Of every signal about the app's own work",
        "`notification_failed`, `receiver_given_up`, `sync_failed` and `health_changed` have these.",
        _arguments("LifeCycleArguments"),
    )


@section
def signal_list() -> str:
    """Return every signal: when it is sent, and the arguments that are its own."""
    texts = attribute_texts(signals)
    return joined(
        *(
            joined(f"### `{name}`", texts[name], _arguments(arguments_of(signal)))
            for name, signal in signals.SIGNALS.items()
        )
    )


@section
def signal_waits() -> str:
    """Return what a receiver raises that cannot do its work yet, and what says how long it waits."""
    return joined(
        function("RetryLater", signals.RetryLater),
        value_class("RetryPlan", signals.RetryPlan),
    )


def arguments_of(signal: signals.DurableSignal[Any]) -> str:
    """Return the name of the class that describes a signal's arguments."""
    (receiver,) = vars(signal)["__orig_class__"].__args__
    annotation: str = receiver.__call__.__annotations__[RECEIVER]
    return annotation.removeprefix("Unpack[").removesuffix("]")


def _arguments(name: str) -> str:
    texts = attribute_texts(arguments)
    own = vars(arguments)[name].__annotations__
    rows = [
        [quoted(each), quoted(_forward(kind)), texts[f"{name}.{each}"]]
        for each, kind in own.items()
        if f"{name}.{each}" in texts
    ]
    return table(["argument", "type", "meaning"], rows)


def _forward(annotation: object) -> str:
    return getattr(annotation, "__forward_arg__", None) or str(annotation)


@section
def metric_list() -> str:
    """Return every metric: counters, histograms with their spans, gauges."""
    rows = [[quoted(name), unit, text] for name, (unit, text) in telemetry.COUNTERS.items()]
    gauges = [[quoted(name), unit or NO_TEXT, text] for name, (unit, text) in telemetry.GAUGES.items()]
    steps = [
        [quoted(f"checkout.{name}.duration"), quoted(f"checkout.{name}"), text]
        for name, text in telemetry.STEPS.items()
    ]
    return joined(
        "## Counters",
        table(["counter", "unit", "meaning"], rows),
        "## Histograms, in seconds, and spans",
        table(["histogram", "span", "what is measured"], steps),
        "## Gauges",
        table(["gauge", "unit", "meaning"], gauges),
    )


@section
def hook_methods() -> str:
    """Return the methods of `Hooks`."""
    methods = [name for name in vars(hooks.Hooks) if not name.startswith("_")]
    return joined(*(function(name, getattr(hooks.Hooks, name)) for name in methods))


@section
def hook_values() -> str:
    """Return what hooks take and return."""
    return joined(
        value_class("Refusal", hooks.Refusal),
        value_class("FailedRun", hooks.FailedRun),
        value_class("Use", hooks.Use),
        anything("Validator", None, text=attribute_texts(hooks)["Validator"]),
    )


@section
def checkout_terms() -> str:
    """Return the arguments of a checkout: keys, types and meanings."""
    meanings = {name: text for kind in TERMS for name, text in parsed(kind).items.items()}
    rows = [
        [quoted(name), quoted(_forward(kind)), meanings[name]]
        for name, kind in hooks.CheckoutArguments.__annotations__.items()
    ]
    return joined(*(parsed(kind).prose for kind in TERMS), table(["argument", "type", "meaning"], rows))


@section
def flow_verbs() -> str:
    """Return what a shop calls."""
    return _public(flows, flows.__all__, "function")


@section
def flow_values() -> str:
    """Return the types that its signatures name."""
    return _public(flows, [name for name in flows.__all__ if name not in errors.__all__], "class")


@section
def staff_verbs() -> str:
    """Return what staff, commands and monitors call."""
    parts = []
    for room in STAFF:
        module = import_module(f"checkout_integration.flows.{room}")
        names = getattr(module, "__all__", ())
        if names:
            parts += [f"## `flows.{room}`", parsed(module).prose.partition("\n")[0]]
            parts += [_public(module, names, "function"), _public(module, names, "class")]
    return joined(*parts)


def _public(module: ModuleType, names: Iterable[str], kind: str) -> str:
    chosen = inspect.isclass if kind == "class" else inspect.isroutine
    return joined(
        *(anything(name, getattr(module, name)) for name in sorted(names) if chosen(getattr(module, name)))
    )


@section
def error_tree() -> str:
    """Return the tree of exceptions."""
    return parsed(errors).prose.partition("\n\n")[2]


@section
def error_list() -> str:
    """Return every exception."""
    return joined(*(_error(getattr(errors, name)) for name in errors.__all__))


def _error(kind: type[Exception]) -> str:
    text = parsed(kind)
    advice = getattr(kind, "advice", "")
    rows = [[quoted(name), why] for name, why in text.items.items()]
    return joined(
        f"### `{kind.__name__}`",
        text.prose + (f" What to do: {advice}." if advice else ""),
        table(["attribute", "meaning"], rows),
    )
