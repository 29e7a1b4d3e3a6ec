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
from typing import Any, Final, NamedTuple, TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | Decimal | bool | None"

MAX_DEPTH: Final = 32
"""MariaDB stores at most 31 levels (up to 11.6), and what it stores lies one level below its envelope at least."""
MAX_NUMBER_LENGTH: Final = 40
MAX_EXPONENT: Final = 20
MAX_VALUES: Final = 20_000
"""A value takes 2 bytes on the wire and up to 300 in memory: a body of a mebibyte could fill a gibibyte."""
REPLACEMENT: Final = "\ufffd"

_MARK: Final = "\ufeff"
_NUL: Final = "\udc00"
"""Stands for a NUL while its text is read: no byte that is not UTF-8 becomes this one."""

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
    """A JSON object with a part that cannot be stored as it was sent.

    Attributes:
        left_out: dotted paths of the numbers beyond our limits, which are null here.
        replaced: dotted paths of the texts that have U+FFFD in place of what is no character.
        unclear_keys: whether that is so of a key, here or below.

    """

    left_out: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unclear_keys: bool = False


def unread_in(document: object) -> tuple[str, ...]:
    """Return the dotted paths of what was not read as it was sent: numbers that are null now, and texts with U+FFFD."""
    return (*document.left_out, *document.replaced) if isinstance(document, PartlyRead) else ()


def loads(body: bytes, *, most_values: int = MAX_VALUES, tolerant: bool = False) -> JsonValue:
    """Read one JSON text. Raises `NotJson` or `JsonRefused` and nothing else, in linear time.

    Integers become int, other numbers Decimal from their text. NUL and lone surrogates, which databases
    refuse to store, are replaced by U+FFFD. ``most_values`` bounds the memory: commas and opening brackets
    are counted, those in text too. With ``tolerant`` a number beyond our limits is null, and bytes that are not UTF-8 and
    NUL in a text are U+FFFD: see `PartlyRead`.
    """
    if count_values(body) > most_values:
        raise JsonRefused(f"more than {most_values} values")
    text, is_clean = text_of(body, tolerant=tolerant)
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _refuse_depth(body)
    if tolerant and not is_clean:
        text = text.replace("\0", _NUL)
    left_out = False
    try:
        value = _decode(text, _DECODER)
    except NumberRefused:
        if not tolerant:
            raise
        value, left_out = _decode(text, _LENIENT_DECODER), True
        if not isinstance(value, dict):  # the missing part could not be named
            raise
    if left_out or not is_clean or has_unstorable_escapes(body):
        value = storable(value)
    return value


def text_of(body: bytes, *, tolerant: bool) -> tuple[str, bool]:
    """Return the text of a body without a byte-order mark, and whether it is UTF-8 without NUL. Raises `NotJson`.

    With ``tolerant`` each byte that is not UTF-8 is a lone surrogate, of which ``surrogateescape`` makes the byte again.
    """
    try:
        return body.decode("utf-8").removeprefix(_MARK), b"\0" not in body
    except UnicodeDecodeError as error:
        if not tolerant:
            raise NotJson(f"not UTF-8 at byte {error.start}") from None
    return body.decode("utf-8", "surrogateescape").removeprefix(_MARK), False


def count_values(body: bytes) -> int:
    """Return how many values a body may have; that needs no memory of its own."""
    return body.count(b"{") + body.count(b"[") + body.count(b",")


def has_unstorable_escapes(body: bytes) -> bool:
    """Return whether a body may spell out NUL or half a pair of surrogates."""
    return _UNSTORABLE_ESCAPE.search(body) is not None


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


def _or_left_out(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader of numbers by which those beyond our limits are `_LEFT_OUT`."""

    def read_or_leave_out(text: str) -> Any:
        try:
            return read(text)
        except NumberRefused:
            return _LEFT_OUT

    return read_or_leave_out


def _constant(_name: str) -> Any:
    raise NotJson("NaN and Infinity are not JSON")


_LEFT_OUT: Final = object()
"""The placeholder of a number beyond our limits until `storable` replaces it."""
_LENIENT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_or_left_out(_whole),
    parse_float=_or_left_out(_fraction),
    parse_constant=_constant,
)
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_fraction, parse_constant=_constant
)


def storable(value: Any) -> Any:
    """Return a value without what databases refuse, in texts and in keys. Objects that had any are `PartlyRead`.

    The depth is bounded by the caller.
    """
    return _storable(value)[0]


class _Unread(NamedTuple):
    """What was not read in a value, as in `PartlyRead`; the path of the value itself is ""."""

    left_out: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unclear_keys: bool = False


_READ: Final = _Unread()


def _storable(value: Any) -> tuple[Any, _Unread]:
    if value is _LEFT_OUT:
        return None, _Unread(left_out=("",))
    if isinstance(value, str):
        text = _UNSTORABLE.sub(REPLACEMENT, value)
        return (value, _READ) if text == value else (text, _Unread(replaced=("",)))
    if isinstance(value, list):
        items = [(str(index), *_storable(item)) for index, item in enumerate(value)]
        return [item for _, item, _ in items], _in_parts(items)
    if isinstance(value, dict):
        members = [(_UNSTORABLE.sub(REPLACEMENT, key), *_storable(item)) for key, item in value.items()]
        unread = _in_parts(members)
        if any(member[0] != key for member, key in zip(members, value, strict=True)):
            unread = unread._replace(unclear_keys=True)
        stored = _object([(name, item) for name, item, _ in members])
        return (stored if unread == _READ else _partly(stored, unread)), unread
    return value, _READ


def _in_parts(parts: Sequence[tuple[str, Any, _Unread]]) -> _Unread:
    """Return what was not read in the members of an object, or in the elements of an array."""
    return _Unread(
        left_out=tuple(_joined(name, path) for name, _, unread in parts for path in unread.left_out),
        replaced=tuple(_joined(name, path) for name, _, unread in parts for path in unread.replaced),
        unclear_keys=any(unread.unclear_keys for _, _, unread in parts),
    )


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name


def _partly(members: dict[str, JsonValue], unread: _Unread) -> PartlyRead:
    partly = PartlyRead(members)
    partly.left_out, partly.replaced, partly.unclear_keys = unread
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
