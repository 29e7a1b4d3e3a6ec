"""JSON, read and written: Decimals are exact, texts are escaped as the service escapes them.

Nothing here is shared with the merchant's side: it is a second reading of the specification on purpose.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn

_LARGEST_EXPONENT: Final = 20
_LONGEST_WHOLE: Final = 40
_WORDS: Final = {None: "null", True: "true", False: "false"}
_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")
_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class NotJsonError(ValueError):
    """The bytes are not a JSON text that the sandbox can read."""


class NumberOutOfRangeError(NotJsonError):
    """A JSON text with a number that the sandbox cannot process."""


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not JSON")


def _read_number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise NumberOutOfRangeError("a number is out of range") from None
    # 1e999999999 is a valid JSON number whose plain text would fill the memory.
    if abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise NumberOutOfRangeError("a number is out of range")
    return number


def _read_whole(text: str) -> int:
    if len(text) > _LONGEST_WHOLE:
        raise NumberOutOfRangeError("a number is out of range")
    return int(text)


def _storable(value: Any) -> Any:
    """Replace lone surrogates, which neither UTF-8 nor SQLite can store."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_storable(element) for element in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(element) for key, element in value.items()}
    return value


def read_json(body: bytes | str) -> Any:
    """Parse a JSON text; numbers with a fraction or exponent become exact Decimals.

    Raises:
        NotJsonError: for anything that is not UTF-8 JSON, or too deep, or with numbers out of range.
    """
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        value = json.loads(
            text, parse_float=_read_number, parse_int=_read_whole, parse_constant=_refuse_constant
        )
        # A surrogate can only come from an escape, so most bodies need no second pass.
        return _storable(value) if "\\u" in text else value
    except NotJsonError:
        raise
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise NotJsonError("the body is not JSON") from error


def _write_text(text: str) -> str:
    quoted = encode_basestring(text)
    return quoted.translate(_ESCAPES) if _ESCAPED.search(quoted) else quoted


def _write_number(number: Decimal | float) -> str:
    """Write a number as deployed services do, which use doubles: 100 and not 100.0; 0.12; 59.99 (ORD-22)."""
    text = format(Decimal(str(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_json(value: Any) -> str:
    """Write compact JSON: `< > &` escaped, non-ASCII raw, numbers exact and plain."""
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, (Decimal, float)):
        return _write_number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_write_text(key)}:{write_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(write_json(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return str(int(value))
    raise TypeError(f"no JSON for {type(value).__name__}")
