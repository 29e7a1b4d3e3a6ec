"""From JSON objects to typed snapshots, tolerantly: one declaration per field, no document is ever rejected.

A snapshot is a frozen dataclass whose fields are declared with the functions of this module::

    @dataclass(frozen=True, kw_only=True)
    class Tax(Snapshot):
        type: str | None = text()
        amount: Decimal | None = money()

    parse_tax = Decoder(Tax)

A field that is absent, null or unreadable is None; what was unreadable is listed in ``problems``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from checkout_integration.protocol.values import Document, parse_moment, parse_money

Reader: TypeAlias = Callable[[Any], Any]
"""Turns a JSON value into a field's value; raises ValueError when it cannot."""

_READER: Final = "reader"
_ALIAS: Final = "alias"
_Field: TypeAlias = "tuple[str, str | None, Reader]"
"""A name, a second name or None, and how the value is read."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The base of all snapshots.

    Attributes:
        document: the JSON object it came from. Absent is not null: ask ``"key" in snapshot.document``.
        problems: dotted paths of the values that had a wrong type or could not be read.

    """

    document: Document = dataclasses.field(repr=False)
    problems: tuple[str, ...] = ()


S = TypeVar("S", bound=Snapshot)


class Decoder(Generic[S]):
    """A decoder of JSON objects to snapshots of one class. It never raises on the content of a document."""

    def __init__(self, snapshot: type[S]) -> None:
        self._snapshot = snapshot
        self._fields: tuple[_Field, ...] = tuple(
            (field.name, field.metadata.get(_ALIAS), field.metadata[_READER])
            for field in dataclasses.fields(snapshot)
            if _READER in field.metadata
        )

    def __call__(self, document: Document) -> S:
        """Return the snapshot of one JSON object."""
        values: dict[str, Any] = {}
        problems: list[str] = []
        get = document.get
        for name, alias, read in self._fields:
            value = get(name)
            if value is None and (alias is None or (value := get(alias)) is None):
                continue
            try:
                values[name] = read(value)
            except _PartlyRead as partly:
                values[name] = partly.value
                problems += [name + path for path in partly.paths]
            except ValueError:
                problems.append(name)
        # Calling the class would set all fields one by one, as frozen classes do, which takes as long as reading them.
        snapshot = object.__new__(self._snapshot)
        vars(snapshot).update(values, document=document, problems=tuple(problems))
        return snapshot


def text(*, personal: bool = False, alias: str | None = None) -> Any:
    """Return a field of text, of any length, "" included. ``alias`` is a second name under which it is sent."""
    return _field(_read_text, personal, alias)


def text_or_false() -> Any:
    """Return a field of text for which some senders write false instead of null.

    Any other value that is no text is a problem, and reads as "unreadable": it must not look like a missing value.
    """
    return _field(_read_text_or_false)


def flag() -> Any:
    """Return a boolean field."""
    return _field(_read_flag)


def whole() -> Any:
    """Return an integer field."""
    return _field(_read_whole)


def money() -> Any:
    """Return an exact number: an amount or a rate."""
    return _field(parse_money)


def moment() -> Any:
    """Return a moment in UTC; the zero times are None and no problem."""
    return _field(parse_moment)


def texts(*, personal: bool = False) -> Any:
    """Return an array of text, as a tuple."""
    return _field(_read_texts, personal)


def attributes() -> Any:
    """Return an object of string-valued attributes. Other values in it are left out and noted."""
    return _field(_read_attributes, personal=True)


def mapping() -> Any:
    """Return any JSON object, as it is."""
    return _field(_read_mapping, personal=True)


def nested(decoder: Decoder[Any], *, personal: bool = False) -> Any:
    """Return an object with a snapshot of its own."""

    def read(value: Any) -> Snapshot:
        part: Snapshot = decoder(_read_mapping(value))
        if part.problems:
            raise _PartlyRead(part, ["." + path for path in part.problems])
        return part

    return _field(read, personal)


def array_of(decoder: Decoder[Any]) -> Any:
    """Return an array of objects, as a tuple of snapshots. Elements that are not objects are left out and noted."""

    def read(value: Any) -> tuple[Snapshot, ...]:
        if not isinstance(value, list):
            raise ValueError("not an array")
        parts = [(index, decoder(item)) for index, item in enumerate(value) if isinstance(item, dict)]
        paths = [f".{index}" for index, item in enumerate(value) if not isinstance(item, dict)]
        paths += [f".{index}.{path}" for index, part in parts for path in part.problems]
        result = tuple(part for _, part in parts)
        if paths:
            raise _PartlyRead(result, paths)
        return result

    return _field(read)


class _PartlyRead(Exception):
    """A value was read in part: the readable part, and the paths below it that could not be read."""

    def __init__(self, value: object, paths: list[str]) -> None:
        super().__init__()
        self.value = value
        self.paths = paths


def _field(read: Reader, personal: bool = False, alias: str | None = None) -> Any:
    metadata = {_READER: read, _ALIAS: alias}
    return dataclasses.field(default=None, repr=not personal, metadata=metadata)


def _of_kind(kind: type, problem: str) -> Reader:
    def read(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise ValueError(problem)

    return read


_read_text: Final = _of_kind(str, "not text")
_read_flag: Final = _of_kind(bool, "not a boolean")
_read_mapping: Final = _of_kind(dict, "not an object")


def _read_text_or_false(value: Any) -> str | None:
    if value is False:
        return None
    if isinstance(value, str):
        return value
    raise _PartlyRead("unreadable", [""])


def _read_whole(value: Any) -> int:
    if type(value) is int:
        return value
    raise ValueError("not an integer")


def _read_texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("not an array of text")


def _read_attributes(value: Any) -> Mapping[str, str]:
    entries = _read_mapping(value)
    readable = {key: item for key, item in entries.items() if isinstance(item, str)}
    if len(readable) != len(entries):
        raise _PartlyRead(readable, [f".{key}" for key in entries if key not in readable])
    return readable
