"""schemathesis against a running sandbox: allowed requests are accepted, forbidden ones are refused.

A few examples in every run; ``CHECKOUT_FULL=1`` asks for 500 of each operation in each profile.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import settings
from requests.adapters import HTTPAdapter
from schemathesis import AuthContext, Case
from schemathesis.checks import CheckFunction
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
)

from tests.support.numbers import numbers, readable
from tests.support.sandbox.openapi_description import read_description
from tests.support.sandbox.service import PROJECT, SECRET, Service, running
from tests.support.scale import times

EXAMPLES: Final = times(15, 500)
TOKEN: Final = "known-token"
# With a port or a host in numbers, of which no pattern can say whether they exist.
ODD_ADDRESS: Final = re.compile(r"https?://([^/?#]*:|([^/?#:]*\.)?[0-9])", re.IGNORECASE)
# In the field bad credentials are a 400, or a 500 of the list, where the check wants 401.
NOT_IN_THE_FIELD: Final = [ignored_auth]


def described(profile: str) -> BaseSchema:
    """Return the profile's description with the one project and the one token that the sandbox knows."""
    document = read_description(profile)
    schemas = document["components"]["schemas"]
    schemas["TokenSettings"]["properties"]["project_id"] = {"const": PROJECT}
    schemas["OrderRequest"]["properties"]["token"] = {"enum": [None, "", TOKEN]}
    for shape in schemas["OrderRequest"]["anyOf"]:
        for name, known in (("project", PROJECT), ("token", TOKEN)):
            if name in shape["required"]:
                shape["properties"][name] = {"const": known}
    schema = schemathesis.openapi.from_dict(document)
    schema.auth(refresh_interval=None)(Credentials)
    return schema


class Credentials:
    """The project's credentials, put on every request that is not meant to lack them."""

    def get(self, case: Case[Any], context: AuthContext) -> dict[str, str]:
        """Return the header of the operation."""
        if case.operation.method == "get":
            return {"Authorization": "Basic " + b64encode(f"{PROJECT}:{SECRET}".encode()).decode()}
        return {"X-API-SIGNATURE": SECRET}

    def set(self, case: Case[Any], data: dict[str, str], context: AuthContext) -> None:
        """Add it."""
        case.headers.update(data)


SPEC: Final = described("spec")
FIELD: Final = described("field")


@pytest.fixture(scope="module")
def spec_sandbox() -> Iterator[Service]:
    """A sandbox of the specification's profile, with the token and some orders."""
    yield from stocked("spec")


@pytest.fixture(scope="module")
def field_sandbox() -> Iterator[Service]:
    """A sandbox of the field's profile, with the token and some orders."""
    yield from stocked("field")


def stocked(profile: str) -> Iterator[Service]:
    """Run a sandbox without a webhook."""
    with running(profile=profile, webhook_url="") as service:
        keep_token(service)
        service.act(service.paid(), "refund")
        service.act(service.order_id(), "cancel")
        yield service


def keep_token(service: Service) -> None:
    """Make a token that goes with any other parameters, and give it the text that the description knows."""
    answer = service.token({"type": "virtual_currency", "amount": 5, "currency": "USD"})
    assert answer.status_code == 200
    with service.sandbox.store.transaction() as connection:
        connection.execute("UPDATE tokens SET token = ?", (TOKEN,))


class Packing(HTTPAdapter):
    """Sends a body packed when the request says that it is."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Pack, then send."""
        if request.headers.get("Content-Encoding") == "gzip" and request.body:
            body = request.body.encode() if isinstance(request.body, str) else request.body
            request.body = gzip.compress(body)
            request.headers["Content-Length"] = str(len(request.body))
        return super().send(request, *args, **options)


def session() -> requests.Session:
    """Return a session that packs."""
    packing = requests.Session()
    packing.mount("http://", Packing())
    return packing


def hold(case: Case[Any], service: Service, unfit: list[CheckFunction]) -> None:
    """Send a case and run every check on the response, but for those that do not fit."""
    excluded = list(unfit)
    if is_valid(case) and beyond_the_schema(case):
        excluded.append(positive_data_acceptance)
    if case.headers.get("Content-Encoding") == "gzip":
        # The requests that this check sends by itself do not go through the session, so nothing would pack them.
        excluded.append(ignored_auth)
    with session() as packing:
        response = case.call(service.url, session=packing)
    if case.operation.method == "get" and sent_as_described(case, str(response.request.url)):
        excluded.append(
            negative_data_rejection
        )  # the invalid part is lost when it is written into an address
    case.validate_response(response, excluded_checks=excluded, transport_kwargs={"base_url": service.url})


def is_valid(case: Case[Any]) -> bool:
    """Tell whether a case was made to be accepted."""
    return case.meta is not None and case.meta.generation.mode.is_positive


def beyond_the_schema(case: Case[Any]) -> bool:
    """Return whether a request may be refused for a reason that no schema can express."""
    body = case.body if isinstance(case.body, dict) else {}
    query = case.query or {}
    return (
        any(map(ODD_ADDRESS.match, texts(body)))
        or not all(map(readable, numbers(body)))
        or not all(map(real, [*query.get("project_date_from", []), query.get("project_date_to", "")]))
        or {"starting_after", "ending_before"} <= query.keys()
    )


@pytest.mark.spec("SVC-05", "SVC-06", "SVC-07", "HTT-01", "HTT-15")
@SPEC.parametrize()
@settings(max_examples=EXAMPLES)
def test_the_spec_profile_keeps_to_the_description(case: Case[Any], spec_sandbox: Service) -> None:
    """Every check of schemathesis passes against the specification's profile."""
    hold(case, spec_sandbox, [])


@pytest.mark.spec("SVC-05", "SVC-06", "SVC-07", "HTT-01", "HTT-15")
@FIELD.parametrize()
@settings(max_examples=EXAMPLES)
def test_the_field_profile_keeps_to_the_description(case: Case[Any], field_sandbox: Service) -> None:
    """Every check of schemathesis passes against the field's profile, but for the status of bad credentials."""
    hold(case, field_sandbox, NOT_IN_THE_FIELD)


def sent_as_described(case: Case[Any], url: str) -> bool:
    """Tell whether the parameters of an address are all as described, as the service reads them."""
    sent = parse_qs(urlsplit(url).query, keep_blank_values=True)
    for parameter in case.operation.query:
        texts = sent.get(parameter.name, [])
        listed = parameter.definition["schema"].get("type") == "array"
        read = [int(text) if text.isascii() and text.isdigit() else text for text in texts]
        values = [texts] if listed and texts else read
        if not all(map(parameter.get_validator().is_valid, values)):
            return False
    return True


def texts(node: Any) -> Iterator[str]:
    """Yield every text."""
    if isinstance(node, str):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from texts(inner)


def real(text: Any) -> bool:
    """Tell whether a day is in the calendar."""
    try:
        return not text or bool(datetime.fromisoformat(text))
    except (TypeError, ValueError):
        return False
