"""The array of a JSON object, split into the texts of its elements, which are not parsed.

A list row that is unchanged since its last reading need not be parsed: splitting costs a sixth of parsing. An element that
no parser can read is delimited by its brackets, so it costs nothing of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from checkout_integration.protocol.strict_json import (
    MAX_VALUES,
    JsonRefused,
    JsonValue,
    NotJson,
    StrictJsonError,
    count_values,
    has_unstorable_escapes,
    loads,
    storable,
    text_of,
)

UNREAD: Final = object()
"""The value of an element that the standard library cannot read, or that has too many values."""
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
# Numbers stay text: to turn a long one into a number takes minutes. Control characters are refused with their element.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_TOKENS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},:]', re.DOTALL)


class Element(NamedTuple):
    """An element of the array.

    Attributes:
        text: as it was sent; with lone surrogates for bytes that are not UTF-8 (`text_bytes`).
        value: as the standard library reads it, numbers as text, without characters that databases refuse; or `UNREAD`.

    """

    text: str
    value: Any


def text_bytes(text: str) -> bytes:
    """Return the bytes of an element, or of a part of it, as they were sent."""
    return text.encode("utf-8", "surrogateescape")


def split_array(body: bytes, name: str, *, most_values: int) -> tuple[JsonValue, list[Element]]:
    """Return the document with an empty array under ``name``, tolerantly read, and the elements of that array.

    Without such an array there are no elements, and the document is whole.

    Raises:
        NotJson: the body is not JSON.
        JsonRefused: it is beyond our limits; the elements are not checked for that.

    """
    text, is_clean = text_of(body, tolerant=True)
    try:
        begin, end, elements = _find(text, name, most_values, crowded=count_values(body) > most_values)
    except (ValueError, IndexError, RecursionError):
        loads(body, most_values=most_values)  # raises with the reason and the place
        raise NotJson("not JSON") from None
    if not is_clean or has_unstorable_escapes(body):
        elements = [Element(each.text, _storable(each.value)) for each in elements]
    envelope = f"{text[:begin]}[]{text[end:]}" if end else text
    return loads(text_bytes(envelope), most_values=most_values, tolerant=True), elements


def _find(text: str, name: str, most_values: int, *, crowded: bool) -> tuple[int, int, list[Element]]:
    """Return where the array begins and ends, and its elements; 0, 0 and nothing where there is none.

    ``crowded``: the body has too many values, so none is read that may have them.
    """
    found: tuple[int, int, list[Element]] = (0, 0, [])
    at = _skip(text, 0)
    if text[at] != "{":
        return found
    at = _skip(text, at + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _after(text, at, ":"))
        if key == name and text[at] == "[":
            elements, end = _elements(text, at, most_values, crowded=crowded)
            found, at = (at, end, elements), end
        else:
            at = _end_by_brackets(text, at) if crowded else _DECODER.raw_decode(text, at)[1]
        at = _skip(text, at)
        if text[at] != ",":
            break
        at = _skip(text, at + 1)
    return found


def _elements(text: str, at: int, left: int, *, crowded: bool) -> tuple[list[Element], int]:
    """Return the elements of the array that begins here, and where it ends. ``left``: how many values they may have."""
    elements: list[Element] = []
    at = _skip(text, at + 1)
    if text[at] == "]":
        return elements, at + 1
    while True:
        try:
            if crowded:
                raise ValueError
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = _end_by_brackets(text, at)
            value, count = _read(text[at:end].rstrip())
            left -= count
            if left < 0:
                raise JsonRefused("more values than are read") from None
        elements.append(Element(text[at:end].rstrip(), value))
        at = _skip(text, end)
        if text[at] == "]":
            return elements, at + 1
        at = _skip(text, _after(text, at, ","))


def _storable(value: Any) -> Any:
    try:
        return storable(value)
    except (StrictJsonError, RecursionError):
        return UNREAD


def _after(text: str, at: int, expected: str) -> int:
    at = _skip(text, at)
    if text[at] != expected:
        raise ValueError
    return at + 1


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _end_by_brackets(text: str, at: int) -> int:
    """Return where a value ends that is not read: at the comma or the bracket behind it."""
    for token, begin, _, depth in _walk(text, at):
        if depth < 0 or (depth == 0 and token == ","):
            return begin
    raise ValueError


def _walk(text: str, begin: int = 0) -> Iterator[tuple[str, int, int, int]]:
    """Yield texts, colons, commas and brackets of JSON: where each begins and ends, and how many brackets are around it."""
    depth = 0
    for match in _TOKENS.finditer(text, begin):
        token = match[0]
        if token in "]}":
            depth -= 1
        yield token, match.start(), match.end(), depth
        if token in "[{":
            depth += 1


def _read(element: str) -> tuple[Any, int]:
    """Return the value of an element, and how many values it may have; `UNREAD` and 1 for an object that is not read.

    Raises NotJson for any other text that is not read.
    """
    values = 1 + element.count("{") + element.count("[") + element.count(",")
    if values <= MAX_VALUES:
        with suppress(ValueError, RecursionError):
            return _DECODER.decode(element), values
    ends = [end for token, _, end, depth in _walk(element) if token == "}" and depth == 0]
    if element[:1] != "{" or ends != [len(element)]:
        raise NotJson("not JSON")
    return UNREAD, 1


def member_text(element: str, name: str) -> str:
    """Return the text of an object's member as it was sent, with its quotes and escapes; "" where it has none."""
    tokens = ("", "")
    for token, _, _, depth in _walk(element):
        if depth == 1 and token[0] == '"' and tokens == (f'"{name}"', ":"):
            return token
        tokens = (tokens[1], token)
    return ""
