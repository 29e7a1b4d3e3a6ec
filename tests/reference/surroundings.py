"""Parts of the pages: what surrounds the calls: tables, template tags, REST, commands, tasks."""

from __future__ import annotations

import inspect
import tomllib
from argparse import Action
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.management import load_command_class
from django.core.management.base import BaseCommand
from django.db import models as django_models

from checkout_integration import display, models, tasks
from checkout_integration.api import serializers, server_urls
from checkout_integration.api import urls as customer_urls
from checkout_integration.management import commands
from checkout_integration.models.attributes import SnapshotAttribute
from checkout_integration.protocol.order import Order
from checkout_integration.schedule import beat_schedule
from checkout_integration.templatetags import checkout as tags
from tests.reference.docstrings import code, parsed
from tests.reference.markdown import NO_TEXT, anything, function, joined, quoted, section, table

OWN: Final = "checkout_integration"
COMMANDS: Final = tuple(
    sorted(each.name.removeprefix("checkout_") for each in iter_modules(commands.__path__))
)
KINDS: Final = {
    "BigInteger": "whole number",
    "Binary": "bytes",
    "Boolean": "bool",
    "Char": "text",
    "DateTime": "time",
    "Decimal": "amount",
    "Float": "number",
    "Integer": "whole number",
    "JSON": "JSON",
    "PositiveBigInteger": "whole number",
    "PositiveInteger": "whole number",
    "PositiveSmallInteger": "whole number",
    "Text": "text",
}
COLUMNS: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
)
AMOUNTS: Final = ("charge", "tax", "fee", "net_revenue")
DJANGO_OPTIONS: Final = {option.dest for option in BaseCommand().create_parser("", "")._actions}


@section
def model_list() -> str:
    """Return every model."""
    named = {name: getattr(models, name) for name in models.__all__ if getattr(models, name).__name__ == name}
    return joined(*(_model(name, model) for name, model in sorted(named.items())))


def _model(name: str, model: type[django_models.Model]) -> str:
    columns = [
        [quoted(each.name), _kind(each), meaning_of(model, each)]
        for each in model._meta.local_fields
        if not each.auto_created
    ]
    return joined(
        f"### `{name}`",
        parsed(model).prose,
        *_choices(model),
        table(["column", "kind", "meaning"], columns),
        _read_from_document(model),
        table(["property", "meaning"], _properties(model)),
        table(["queryset", "meaning"], _questions(model)),
    )


def meaning_of(model: type[django_models.Model], field: Any) -> str:
    """Return what a column means: its own help text, a text of columns.toml, or that the service says it."""
    named = COLUMNS.get(model.__name__, {}).get(field.name) or COLUMNS["every"].get(field.name)
    said_by_service = field.name in Order.__dataclass_fields__ or field.name.rpartition("_")[0] in AMOUNTS
    return named or str(field.help_text) or ("As the service says." if said_by_service else "")


def _kind(field: Any) -> str:
    """Return in a word what a column holds: a row that it leads to, or a kind of value."""
    if field.related_model is not None:
        target = field.related_model.__name__
        kind = quoted("AUTH_USER_MODEL" if field.related_model is get_user_model() else target)
    else:
        kind = KINDS[field.get_internal_type().removesuffix("Field")]
        if kind == "text" and field.max_length:
            kind = f"text, at most {field.max_length}"
    return f"{kind}, or None" if field.null else kind


def _choices(model: type[django_models.Model]) -> Iterator[str]:
    for name, inner in vars(model).items():
        if inspect.isclass(inner) and issubclass(inner, django_models.TextChoices):
            words = ", ".join(quoted(value) for value in inner.values)
            yield joined(f"`{name}`: {words}.", parsed(inner).prose if inner.__doc__ else "")


def _read_from_document(model: type[django_models.Model]) -> str:
    names = [name for name, member in vars(model).items() if isinstance(member, SnapshotAttribute)]
    return f"Read from the document: {', '.join(map(quoted, names))}." if names else ""


def _properties(model: type[django_models.Model]) -> list[list[str]]:
    return [
        [quoted(name), parsed(member).prose.partition("\n")[0]]
        for name, member in vars(model).items()
        if not name.startswith("_") and isinstance(member, property)
    ]


def _questions(model: type[django_models.Model]) -> list[list[str]]:
    """Return the methods that the model's querysets have beside Django's own."""
    kinds = [kind for kind in type(model._default_manager.all()).__mro__ if kind.__module__.startswith(OWN)]
    return [
        [quoted(f"{model.__name__}.objects.{_call(name, member)}"), parsed(member).prose]
        for kind in kinds
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    ]


def _call(name: str, method: Callable[..., Any]) -> str:
    return f"{name}({', '.join(list(inspect.signature(method).parameters)[1:])})"


@section
def permission_list() -> str:
    """Return the permissions that are the app's own."""
    rows = [
        [quoted(f"{model._meta.app_label}.{codename}"), str(name)]
        for model in (getattr(models, name) for name in sorted(models.__all__))
        for codename, name in model._meta.permissions
    ]
    return table(["permission", "meaning"], rows)


@section
def tag_list() -> str:
    """Return every template tag."""
    return joined(*(_tag(name) for name in tags.register.tags))


def _tag(name: str) -> str:
    described = function(name, getattr(tags, name), hidden=["context"])
    return "\n".join(line for line in described.splitlines() if not line.startswith("Returns `dict")).rstrip()


@section
def display_functions() -> str:
    """Return the functions behind the tags."""
    return joined(*(anything(name, getattr(display, name)) for name in display.__all__))


@section
def rest_addresses() -> str:
    """Return every address with what may be asked of it."""
    rows = []
    patterns = [
        (each.app_name, pattern) for each in (customer_urls, server_urls) for pattern in each.urlpatterns
    ]
    for namespace, pattern in patterns:
        view = vars(pattern.callback)["view_class"]
        for verb in ("get", "post"):
            if hasattr(view, verb):
                meaning = parsed(view.post).prose if verb == "post" else parsed(view).prose
                rows.append(
                    [
                        verb.upper(),
                        quoted(pattern.pattern),
                        quoted(f"{namespace}:{pattern.name}"),
                        meaning.replace("\n\n", " "),
                    ]
                )
    return table(["method", "address", "name", "meaning"], rows)


@section
def rest_objects() -> str:
    """Return the objects of the responses."""
    kinds = {
        name: kind
        for name, kind in vars(serializers).items()
        if name.endswith("Serializer") and kind.__module__ == serializers.__name__
    }
    return joined(*(_object(name.removesuffix("Serializer"), kind()) for name, kind in kinds.items()))


def _object(name: str, serializer: Any) -> str:
    rows = [
        [quoted(each), type(field).__name__.removesuffix("Field")]
        for each, field in serializer.fields.items()
    ]
    return joined(f"### {name}", parsed(type(serializer)).prose, table(["member", "kind"], rows))


@section
def command_list() -> str:
    """Return every command with its options."""
    return joined(*(_command(f"checkout_{name}") for name in COMMANDS))


def parser_of(name: str) -> dict[str, Action]:
    """Return the options of a command that are its own, by the last of their names."""
    command = load_command_class(OWN, name)
    actions = command.create_parser("manage.py", name)._actions
    return {
        [*each.option_strings, each.dest][len(each.option_strings) - 1]: each
        for each in actions
        if each.dest not in DJANGO_OPTIONS
    }


def _command(name: str) -> str:
    command = load_command_class(OWN, name)
    rows = [
        [
            ", ".join(map(quoted, action.option_strings)) or quoted(option),
            _choice(action),
            code(action.help or NO_TEXT),
        ]
        for option, action in parser_of(name).items()
    ]
    return joined(
        f"### `{name}`",
        str(command.help),
        parsed(type(command)).prose,
        table(["option", "value", "meaning"], rows),
    )


def _choice(action: Action) -> str:
    if action.nargs == 0:
        return NO_TEXT
    words = " ".join(map(quoted, action.choices)) if action.choices else "a value"
    default = "" if action.default in (None, []) else f", default {quoted(action.default)}"
    return f"{words}{default}"


@section
def task_list() -> str:
    """Return Celery's tasks, and what beat does."""
    tasks_by_name: Mapping[str, Any] = {
        "run_due": tasks.run_due,
        "sync_transactions": tasks.sync_transactions,
        "prune": tasks.prune,
    }
    return joined(
        *(function(name, task.run) for name, task in tasks_by_name.items()),
        function("beat_schedule", beat_schedule),
    )
