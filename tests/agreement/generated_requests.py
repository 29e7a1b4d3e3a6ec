"""Requests out of the table, with what the table says of each: allowed or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tests.agreement.checkout_table import LONG_TOKEN, PREPARED, PROJECT, TOKEN
from tests.agreement.parameter import Parameter
from tests.agreement.table import PARAMETERS, broken

ENDPOINTS: Final = ("order", "token")
BASES: Final[tuple[dict[str, Any], ...]] = (
    {"project": PROJECT, "type": "simple", "amount": Decimal("1"), "currency": "USD"},
    {"project": PROJECT, "type": "product", "products": ["item-1", "item-2"]},
    {"project": PROJECT, "type": "key", "products": ["item-1"], "platform_id": "gog"},
    {"project": PROJECT, "type": "virtual_currency"},
    {"project": PROJECT, "type": "virtual_currency", "amount": Decimal("9.99"), "currency": "USD"},
    {"project": PROJECT, "type": "virtual_currency", "products": ["item-1"]},
)
"""The shapes of accepted requests (EP2-18), and virtual currency as it is, by amount and by product."""
WITH_EVERY_BASE: Final = {"type", "amount", "currency", "products", "platform_id"}
BY_NAME: Final = {parameter.name: parameter for parameter in PARAMETERS}


@dataclass
class Request:
    """Values by the names of the table; None is sent as null, what has no name here is absent."""

    endpoint: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object."""
        document: dict[str, Any] = {} if self.endpoint == "order" else {"settings": {}}
        for name, value in self.sent.items():
            _put(document, path_of(BY_NAME[name], self.endpoint), deepcopy(value))
        return document

    @property
    def sent(self) -> dict[str, Any]:
        """The values that are in the document: one in the place of an object takes those below it away."""
        gone = [path_of(BY_NAME[name], self.endpoint) for name in self.values if name.startswith("object_")]
        return {
            name: value
            for name, value in self.values.items()
            if not any(path_of(BY_NAME[name], self.endpoint).startswith(f"{path}.") for path in gone)
        }

    @property
    def given(self) -> dict[str, Any]:
        """The values that are there, and good."""
        there = {name: value for name, value in self.sent.items() if is_given(BY_NAME[name], value)}
        if "object_user" not in self.values and any(
            path_of(BY_NAME[name], self.endpoint).startswith("user.") for name in self.sent
        ):
            there["object_user"] = {}
        return there

    @property
    def allowed(self) -> bool:
        """What the table says."""
        values_fit = all(
            not is_given(BY_NAME[name], value) or any(same(value, good) for good in BY_NAME[name].good)
            for name, value in self.sent.items()
        )
        return values_fit and not broken(self.endpoint, self.given)

    @property
    def is_decidable(self) -> bool:
        """Whether the client can know: not which orders the service has prepared."""
        if "token" in self.given:
            return True
        if "order" in self.given and "type" not in self.given:
            return (self.given["order"], self.given.get("project", PROJECT)) == (PREPARED, PROJECT)
        return True


def is_given(parameter: Parameter, value: Any) -> bool:
    """Return whether a value is given."""
    if value is None or (value == "" and parameter.empty_is_absent):
        return False
    return not (parameter.name == "products" and value == [])


def same(value: Any, good: Any) -> bool:
    """Return whether two values are equal and of one type: True is not 1."""
    return type(value) is type(good) and bool(value == good)


def path_of(parameter: Parameter, endpoint: str) -> str:
    """Return where the parameter stands in the request; "" when it has no place there."""
    return parameter.order if endpoint == "order" else parameter.token


def every_value() -> Iterator[Request]:
    """Yield each parameter, absent, null and with each of its values, in each request that it has something to do with."""
    for endpoint in ENDPOINTS:
        for parameter in PARAMETERS:
            if not path_of(parameter, endpoint):
                continue
            for base in BASES if parameter.name in WITH_EVERY_BASE else BASES[:1]:
                yield from _with_each_value(endpoint, parameter, base)


def _with_each_value(endpoint: str, parameter: Parameter, base: dict[str, Any]) -> Iterator[Request]:
    needed = {"customer_id": "x"} if path_of(parameter, endpoint).startswith("user.") else {}
    whole = {**needed, **base}
    if parameter.name.endswith(
        "_verified"
    ):  # else a token would be refused for the missing value, whatever the flag is
        whole[parameter.name.removesuffix("_verified")] = "x"
    yield Request(endpoint, {name: value for name, value in whole.items() if name != parameter.name})
    for value in (None, "", *parameter.good, *parameter.bad):
        yield Request(endpoint, {**whole, parameter.name: value})


def combinations(seed: int, count: int) -> Iterator[Request]:
    """Yield so many different requests, each with a few parameters changed at random; the same ones for the same seed."""
    source, seen = random.Random(seed), set[str]()
    while len(seen) < count:
        request = _changed(source)
        text = f"{request.endpoint} {request.document}"
        if request.is_decidable and text not in seen:
            seen.add(text)
            yield request


def _changed(source: random.Random) -> Request:
    endpoint = source.choice(ENDPOINTS)
    values = dict(source.choice(BASES))
    if endpoint == "order" and source.random() < 0.15:
        values = {"token": source.choice((TOKEN, LONG_TOKEN))}
    elif endpoint == "order" and source.random() < 0.1:
        values = {"project": PROJECT, "order": PREPARED}
    usable = [
        parameter
        for parameter in PARAMETERS
        if path_of(parameter, endpoint) and parameter.name not in {"token", "order"}
    ]
    for parameter in source.sample(usable, source.randint(0, 5)):
        if source.random() < 0.15:
            values.pop(parameter.name, None)
            continue
        right = parameter.good and source.random() < 0.8
        values[parameter.name] = source.choice((None, *(parameter.good if right else parameter.bad)))
    return Request(endpoint, values)


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        document = document.setdefault(name, {})
    document[last] = value
