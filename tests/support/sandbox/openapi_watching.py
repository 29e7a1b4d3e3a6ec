"""Comparison of every response and every notification of a running sandbox with openapi.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from typing import Any, Final

from jsonschema_rs import Draft202012, Draft202012Validator, Registry

from checkout_integration.sandbox import Sandbox
from checkout_integration.sandbox.wire.run_log import Exchange
from tests.support.sandbox.openapi_description import read_description

_BASE: Final = "urn:openapi"
_NOTIFICATION: Final = ("components", "schemas", "Notification")


class Contract:
    """The description of one profile, its validators compiled on first use, once for all tests."""

    def __init__(self, profile: str) -> None:
        self._document = read_description(profile)
        self._registry = Registry([(_BASE, self._document)], draft=Draft202012)
        self._validators: dict[tuple[str, ...], Draft202012Validator] = {}

    def breaches(self, exchange: Exchange) -> list[str]:
        """Return the breaches of a response of the API or of a notification; none for undescribed ones."""
        if exchange.direction == "out":
            # A notification that a fault dropped has no body.
            return self._invalid(_NOTIFICATION, exchange.request) if exchange.request else []
        path, method = exchange.url.partition("?")[0], exchange.method.lower()
        responses = self._document["paths"].get(path, {}).get(method, {}).get("responses")
        if responses is None:
            return []
        if str(exchange.status) not in responses:
            return [f"the status {exchange.status} is not described"]
        return self._invalid(self._schema_of(path, method, str(exchange.status)), exchange.answer)

    def _schema_of(self, path: str, method: str, status: str) -> tuple[str, ...]:
        response = ("paths", path, method, "responses", status)
        reference = self._document["paths"][path][method]["responses"][status].get("$ref")
        place = tuple(reference.removeprefix("#/").split("/")) if reference else response
        return (*place, "content", "application/json", "schema")

    def _invalid(self, place: tuple[str, ...], body: bytes) -> list[str]:
        try:
            document = json.loads(body, parse_float=Decimal)
        except ValueError:
            return ["the body is not JSON"]
        return [
            f"/{'/'.join(map(str, error.instance_path))}: {error.message}"
            for error in self._validator(place).iter_errors(document)
        ]

    def _validator(self, place: tuple[str, ...]) -> Draft202012Validator:
        if place not in self._validators:
            pointer = "/".join(part.replace("~", "~0").replace("/", "~1") for part in place)
            self._validators[place] = Draft202012Validator(
                {"$ref": f"{_BASE}#/{pointer}"}, registry=self._registry, validate_formats=True
            )
        return self._validators[place]


@cache
def contract(profile: str) -> Contract:
    """Return the one contract of a profile."""
    return Contract(profile)


@contextmanager
def watched(sandbox: Sandbox) -> Iterator[None]:
    """Fail when the block ends, if the sandbox sent anything in it that its description does not allow.

    While faults are switched on nothing is checked, since they break the contract on purpose.
    """
    description = contract(sandbox.profile.name)
    found: list[str] = []

    def watch(exchange: Exchange) -> None:
        if sandbox.faults.document()["rules"]:
            return
        # The exchange must go on whatever it is, so the test is failed at its end.
        found.extend(f"{_named(exchange)} {breach}" for breach in description.breaches(exchange))

    sandbox.log.subscribe(watch)
    yield
    assert not found, "not as openapi.yaml says:\n" + "\n".join(found)


def _named(exchange: Exchange) -> str:
    if exchange.direction == "out":
        event: Any = json.loads(exchange.request).get("event")
        return f"notification {event}:"
    return f"{exchange.method} {exchange.url} answered {exchange.status}:"
