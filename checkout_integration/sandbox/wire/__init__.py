"""HTTP data, read and written. All other rooms are based on this one.

- `http`: request bodies in, responses out
- `json_text`: JSON with exact decimals
- `fields`: the fields of a JSON object, with everything that is wrong in them
- `errors`: `RefusedError`, the cases, and the code of each
- `moments`: times as text and as numbers
- `addresses`: web addresses, the loopback, and the host names that the sandbox answers to
- `signing`: the signature of what is sent, and secrets compared
- `run_log`: every exchange, for the operator
"""

from __future__ import annotations

from checkout_integration.sandbox.wire.addresses import OwnHosts, host_name, is_loopback, is_web_address
from checkout_integration.sandbox.wire.errors import Case, RefusedError
from checkout_integration.sandbox.wire.fields import COUNTRY, PHONE, Fields
from checkout_integration.sandbox.wire.http import (
    LARGEST_BODY,
    finish,
    json_response,
    page_response,
    read_body,
    read_control_body,
    read_decimal,
    read_document,
)
from checkout_integration.sandbox.wire.json_text import NotJsonError, read_json, write_json
from checkout_integration.sandbox.wire.moments import (
    from_microseconds,
    read_filter_moment,
    read_moment,
    to_microseconds,
    write_moment,
)
from checkout_integration.sandbox.wire.run_log import Exchange, RunLog
from checkout_integration.sandbox.wire.signing import WRONG_KEY, authorization_of, same_secret, signature_of

__all__ = [
    "COUNTRY",
    "LARGEST_BODY",
    "PHONE",
    "WRONG_KEY",
    "Case",
    "Exchange",
    "Fields",
    "NotJsonError",
    "OwnHosts",
    "RefusedError",
    "RunLog",
    "authorization_of",
    "finish",
    "from_microseconds",
    "host_name",
    "is_loopback",
    "is_web_address",
    "json_response",
    "page_response",
    "read_body",
    "read_control_body",
    "read_decimal",
    "read_document",
    "read_filter_moment",
    "read_json",
    "read_moment",
    "same_secret",
    "signature_of",
    "to_microseconds",
    "write_json",
    "write_moment",
]
