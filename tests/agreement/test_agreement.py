"""Client, sandbox and the table of the specification agree on every request."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

import pytest

from checkout_integration.protocol.values import is_currency, minor_units
from checkout_integration.sandbox.merchant import currencies
from tests.agreement.generated_requests import Request, combinations, every_value
from tests.agreement.readings import Service, client_allows, running
from tests.support.corpora import corpus
from tests.support.scale import times

SEED = 20261122


@pytest.fixture(scope="module", params=["field", pytest.param("spec", marks=pytest.mark.slow)])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """Give the sandbox of each profile, in memory."""
    with running(request.param) as service:
        yield service


def disagreements(requests: Iterable[Request], service: Service) -> list[str]:
    """Return the requests on which one of the three is of another opinion."""
    found = []
    for request in requests:
        if (
            request.values.get("order")
            and not request.values.get("type")
            and not service.returns_prepared_orders
        ):
            continue  # by the letter of the specification an order's identifier has no effect
        opinions = {
            "table": request.allowed,
            "client": client_allows(request.endpoint, request.document),
            "sandbox": service.allows(request.endpoint, request.document),
        }
        if len(set(opinions.values())) > 1:
            found.append(f"{request.endpoint} {request.document} {opinions}"[:500])
    return found


@pytest.mark.spec(
    "EP1-03", "EP1-04", "EP1-05", "EP1-06", "EP1-07", "EP1-08", "EP1-09", "EP1-10", "EP1-11",
    "EP1-12", "EP1-13", "EP1-14", "EP1-15", "EP1-16", "EP1-17", "EP1-18", "EP1-19", "EP1-20",
    "EP1-21", "EP1-22", "EP2-03", "EP2-04", "EP2-05", "EP2-06", "EP2-07", "EP2-08", "EP2-09",
    "EP2-10", "EP2-11", "EP2-12", "EP2-13", "EP2-14", "EP2-15", "EP2-16", "EP2-18", "SVC-03",
    "ORD-22", "ORD-23", "LIM-03",
)  # fmt: skip
def test_all_agree_on_every_value_of_every_parameter(service: Service) -> None:
    """Absent, null, of other types, at each limit and one beyond it."""
    assert disagreements(every_value(), service) == []


def test_all_agree_on_combinations(service: Service) -> None:
    """Several parameters at once, right and wrong ones; of either kind there are many."""
    requests = list(combinations(SEED, times(400, 6_000, quick_run=100)))
    allowed = sum(request.allowed for request in requests) / len(requests)
    assert 0.2 < allowed < 0.8
    assert disagreements(requests, service) == []


@pytest.mark.spec("EP1-14", "EP2-05", "ORD-23")
def test_both_know_the_currencies_of_the_published_list() -> None:
    """All active codes of ISO 4217 with their places, and no withdrawn one."""
    with corpus("currencies/codes-all.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["AlphabeticCode"]]
    active = {row["AlphabeticCode"]: row["MinorUnit"] for row in rows if not row["WithdrawalDate"]}
    for code in {row["AlphabeticCode"] for row in rows} | {"ZZZ", "usd", ""}:
        assert (is_currency(code), currencies.is_currency(code)) == (code in active, code in active), code
    for code, unit in active.items():
        places = int(unit) if unit.isdigit() else 2
        assert minor_units(code) == (places if unit.isdigit() else None)
        assert currencies.smallest_unit(code).as_tuple().exponent == -places
