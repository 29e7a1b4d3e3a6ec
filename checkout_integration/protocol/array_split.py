"""The array of a JSON object, split into the texts of its elements, which are not parsed.

A list row that is unchanged since its last reading need not be parsed: splitting costs a sixth of parsing.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from checkout_integration.protocol.strict_json import JsonValue, NotJson, checked_text, loads

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
# Numbers stay text: to turn a long one into a number takes minutes.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)


class Element(NamedTuple):
    """An element of the array: its text, and its value as the standard library reads it, numbers as text."""

    text: str
    value: Any


def split_array(body: bytes, name: str, *, most_values: int) -> tuple[JsonValue, list[Element]]:
    """Return the document with an empty array under ``name``, strictly read, and the elements of that array.

    Without such an array there are no elements, and the document is whole.

    Raises:
        NotJson: the body is not JSON.
        JsonRefused: it is beyond our limits; the elements are not checked for that.

    """
    text = checked_text(body, most_values=most_values)
    try:
        begin, end, elements = _find(text, name)
    except (ValueError, IndexError, RecursionError):
        loads(body, most_values=most_values)  # raises with the reason and the place
        raise NotJson("not JSON") from None
    envelope = f"{text[:begin]}[]{text[end:]}" if end else text
    return loads(envelope.encode(), most_values=most_values, leave_out_numbers=True), elements


def _find(text: str, name: str) -> tuple[int, int, list[Element]]:
    """Return where the array begins and ends, and its elements; 0, 0 and nothing where there is none."""
    found: tuple[int, int, list[Element]] = (0, 0, [])
    at = _skip(text, 0)
    if text[at] != "{":
        return found
    at = _skip(text, at + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _after(text, at, ":"))
        if key == name and text[at] == "[":
            elements, end = _elements(text, at)
            found, at = (at, end, elements), end
        else:
            _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ",":
            break
        at = _skip(text, at + 1)
    return found


def _elements(text: str, at: int) -> tuple[list[Element], int]:
    elements: list[Element] = []
    at = _skip(text, at + 1)
    if text[at] == "]":
        return elements, at + 1
    while True:
        value, end = _DECODER.raw_decode(text, at)
        elements.append(Element(text[at:end], value))
        at = _skip(text, end)
        if text[at] == "]":
            return elements, at + 1
        at = _skip(text, _after(text, at, ","))


def _after(text: str, at: int, expected: str) -> int:
    at = _skip(text, at)
    if text[at] != expected:
        raise ValueError
    return at + 1


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at
