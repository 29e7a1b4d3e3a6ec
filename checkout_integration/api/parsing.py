"""Bodies of requests: JSON, read by the package's only JSON reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

from checkout_integration.protocol.strict_json import StrictJsonError, loads

LARGEST_BODY = 64 * 1024


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
