"""What a request says: its body, JSON read by the package's only reader, and the key under which it may be sent again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import IO, Any, Final

from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from checkout_integration.protocol.strict_json import StrictJsonError, loads

LARGEST_BODY = 64 * 1024
LONGEST_KEY: Final = 255
KEY: Final = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])+)"|([!#-\[\]-~]+)')
"""A string of RFC 9651, or, as most clients send it, the bare text."""


def idempotency_key(request: Request) -> str:
    """Return the key of the header Idempotency-Key; "" without one. Raises ``ParseError`` for what is no key."""
    text = request.headers.get("Idempotency-Key", "").strip()
    found = KEY.fullmatch(text)
    if not text:
        return ""
    if not found or len(text) > LONGEST_KEY:
        raise ParseError(
            gettext("Idempotency-Key must be a text in quotes, of at most %(n)d characters.")
            % {"n": LONGEST_KEY}
        )
    return re.sub(r'\\(["\\])', r"\1", found[1] or found[2])


class BodyTooLarge(APIException):
    """413: no checkout needs a body of this size."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"
    default_detail = format_lazy(_("The body is larger than {most} bytes."), most=LARGEST_BODY)


class StrictJSONParser(BaseParser):
    """Exact and bounded: any bytes give a value or 400."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the JSON object of the body; its numbers are int and Decimal. Raises ``ParseError`` and `BodyTooLarge`."""
        body = stream.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            value = loads(body)
        except StrictJsonError as error:
            raise ParseError(
                gettext("The body could not be read: %(reason)s.") % {"reason": error.reason}
            ) from None
        if not isinstance(value, dict):
            raise ParseError(gettext("The body is not a JSON object."))
        return value
