"""The only JSON reader and writer of the package: exact, bounded, and with one kind of error.

The standard library reads NaN, keeps the last of two equal keys, turns money into floats, and can spend
minutes on a number of nine bytes. Everything that arrives from the network is read here instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | Decimal | bool | None"

MAX_DEPTH: Final = 32
"""MariaDB stores at most 31 levels (up to 11.6), and what it stores lies one level below its envelope at least."""
MAX_NUMBER_LENGTH: Final = 40
MAX_EXPONENT: Final = 20
MAX_VALUES: Final = 20_000
"""A value takes 2 bytes on the wire and up to 300 in memory: a body of a mebibyte could fill a gibibyte."""
REPLACEMENT: Final = "\ufffd"

_STRUCTURE: Final = b'"[]{}'
_NOT_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in _STRUCTURE)
_STRING_IN_STRUCTURE: Final = re.compile(rb'"[^"]*"?')
_UNSTORABLE_ESCAPE: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class StrictJsonError(ValueError):
    """A body that was not read. ``reason`` says why in a few words and repeats nothing of the body."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotJson(StrictJsonError):
    """A body that is empty, not UTF-8, or not JSON as RFC 8259 defines it."""


class JsonRefused(StrictJsonError):
    """A body that is JSON as far as it was read, but beyond our limits: equal keys, depth, size of numbers."""


class NumberRefused(JsonRefused):
    """A number beyond our limits."""


class PartlyRead(dict[str, JsonValue]):
    """A JSON object some of whose numbers are beyond our limits: they are null here.

    Attributes:
        left_out: dotted paths of these numbers.

    """

    left_out: tuple[str, ...] = ()


def left_out_of(document: object) -> tuple[str, ...]:
    """Return the dotted paths of the numbers that were left out of an object when it was read."""
    return document.left_out if isinstance(document, PartlyRead) else ()


def loads(body: bytes, *, most_values: int = MAX_VALUES, leave_out_numbers: bool = False) -> JsonValue:
    """Read one JSON text. Raises `NotJson` or `JsonRefused` and nothing else, in linear time.

    Integers become int, other numbers Decimal from their text. NUL and lone surrogates, which databases
    refuse to store, are replaced by U+FFFD. ``most_values`` bounds the memory: commas and opening brackets
    are counted, those in text too. With ``leave_out_numbers`` a number beyond our limits costs its field only: see
    `PartlyRead`.
    """
    text = checked_text(body, most_values=most_values)
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _refuse_depth(body)
    try:
        value = _decode(text, _DECODER)
    except NumberRefused:
        if not leave_out_numbers:
            raise
        value = _decode(text, _LENIENT_DECODER)
        if not isinstance(value, dict):  # the missing part could not be named
            raise
    return _storable(value) if _UNSTORABLE_ESCAPE.search(body) else value


def checked_text(body: bytes, *, most_values: int) -> str:
    """Return the text of a body that takes a bounded part of memory. Raises `NotJson` or `JsonRefused`."""
    if body.count(b"{") + body.count(b"[") + body.count(b",") > most_values:  # needs no memory of its own
        raise JsonRefused(f"more than {most_values} values")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None


def dumps(value: object) -> str:
    """Write compact JSON: Decimals with their exact digits, keys in their order, non-ASCII text as it is.

    Raises TypeError for anything that has no exact JSON form, floats included, and ValueError for a Decimal
    that is not a finite number of sensible size.
    """
    return _text_of(value)


class DocumentEncoder(json.JSONEncoder):
    """`dumps` for Django's ``JSONField(encoder=...)``; formatting options are not used."""

    def encode(self, o: Any) -> str:
        """Return the JSON text of a value, as `dumps` writes it."""
        return dumps(o)

    def iterencode(self, o: Any, _one_shot: bool = False) -> Iterator[str]:
        """Return the same text in one piece."""
        yield dumps(o)


class DocumentDecoder(json.JSONDecoder):
    """The counterpart of `DocumentEncoder`, for Django's ``JSONField(decoder=...)``: Decimals stay exact.

    It does not apply the limits of `loads`, since a database may write a number differently from how we stored it.
    """

    def __init__(self) -> None:
        super().__init__(parse_float=Decimal)


def _refuse_depth(body: bytes) -> None:
    """Look for too many nested brackets before the recursive parser meets them."""
    structure = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    # Adjacent quotes are removed first, since they never change whether a bracket stands inside a string.
    brackets = _STRING_IN_STRUCTURE.sub(b"", structure.replace(b'""', b""))
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels")


def _decode(text: str, decoder: json.JSONDecoder) -> JsonValue:
    try:
        value: JsonValue = decoder.decode(text)
    except StrictJsonError:
        raise
    except json.JSONDecodeError as error:
        # Not chained: that error carries the whole body.
        raise NotJson(f"not JSON at character {error.pos}") from None
    except (RecursionError, ArithmeticError, ValueError):
        raise JsonRefused("beyond the limits of the reader") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonRefused("an object has two equal keys")
    return members


def _whole(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise NumberRefused(f"a number is longer than {MAX_NUMBER_LENGTH} characters")
    return int(text)


def _fraction(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_LENGTH:
        raise NumberRefused(f"a number is longer than {MAX_NUMBER_LENGTH} characters")
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise NumberRefused(f"a number has an exponent beyond {MAX_EXPONENT}")
    return Decimal(text)


def _whole_or_left_out(text: str) -> Any:
    try:
        return _whole(text)
    except NumberRefused:
        return _LEFT_OUT


def _fraction_or_left_out(text: str) -> Any:
    try:
        return _fraction(text)
    except NumberRefused:
        return _LEFT_OUT


def _object_without_numbers(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its parsed members, and collect the paths of omitted numbers in it."""
    members = _object(pairs)
    paths: list[str] = []
    for name, value in members.items():
        if value is _LEFT_OUT:
            members[name] = None
            paths.append(name)
        elif isinstance(value, list):
            paths += _cleared(value, f"{name}.")
        else:
            paths += [f"{name}.{path}" for path in left_out_of(value)]
    if not paths:
        return members
    partly = PartlyRead(members)
    partly.left_out = tuple(paths)
    return partly


def _cleared(values: list[Any], prefix: str) -> list[str]:
    """Replace the left-out numbers of an array by null, and return their paths."""
    paths: list[str] = []
    for index, value in enumerate(values):
        if value is _LEFT_OUT:
            values[index] = None
            paths.append(f"{prefix}{index}")
        elif isinstance(value, list):
            paths += _cleared(value, f"{prefix}{index}.")
        else:
            paths += [f"{prefix}{index}.{path}" for path in left_out_of(value)]
    return paths


def _constant(_name: str) -> Any:
    raise NotJson("NaN and Infinity are not JSON")


_LEFT_OUT: Final = object()
"""The placeholder of a number beyond our limits while its object is made."""
_LENIENT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object_without_numbers,
    parse_int=_whole_or_left_out,
    parse_float=_fraction_or_left_out,
    parse_constant=_constant,
)
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_fraction, parse_constant=_constant
)


def _storable(value: JsonValue) -> JsonValue:
    """Replace characters that databases refuse, in values and in keys. The depth is already bounded."""
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        members = [(_UNSTORABLE.sub(REPLACEMENT, key), _storable(item)) for key, item in value.items()]
        return _like(value, _object(members))
    return value


def _like(original: dict[str, Any], copy: dict[str, Any]) -> dict[str, Any]:
    paths = left_out_of(original)
    if not paths:
        return copy
    partly = PartlyRead(copy)
    partly.left_out = tuple(_UNSTORABLE.sub(REPLACEMENT, path) for path in paths)
    return partly


def _text_of(value: object) -> str:
    write = _WRITERS.get(type(value)) or _writer_of(value)
    return write(value)


def _writer_of(value: object) -> Callable[[Any], str]:
    """Return the writer of a value whose own type is not in the table: that of its first base type there."""
    if not isinstance(value, (bytes, bytearray)):  # they are sequences too
        for kind, write in _WRITERS.items():
            if isinstance(value, kind):
                return write
    raise TypeError(f"{type(value).__name__} has no exact JSON form")


def _object_text(value: Mapping[str, object]) -> str:
    # Most members are text, which is written without a detour.
    members = [
        f"{encode_basestring(key)}:{encode_basestring(item) if type(item) is str else _text_of(item)}"
        for key, item in value.items()
    ]
    return f"{{{','.join(members)}}}"


def _array_text(value: Sequence[object]) -> str:
    return f"[{','.join([_text_of(item) for item in value])}]"


def _number_text(value: Decimal) -> str:
    if not value.is_finite() or abs(value.adjusted()) > MAX_NUMBER_LENGTH + MAX_EXPONENT:
        raise ValueError("the Decimal is not a finite number of sensible size")
    return format(value, "f")


_WRITERS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: encode_basestring,
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    Decimal: _number_text,
    dict: _object_text,
    list: _array_text,
    Mapping: _object_text,
    Sequence: _array_text,
}
"""How each type is written: bool stands before int, of which it is a kind, and text before sequences."""
