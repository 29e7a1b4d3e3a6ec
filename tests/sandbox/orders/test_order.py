"""Possible orders, and fields that the sandbox does not invent."""

from __future__ import annotations

import pytest
import requests

from checkout_integration.protocol.vocabulary import OrderStatus
from checkout_integration.sandbox.server.app import ROUTES
from tests.support.sandbox.service import PROJECT, SECRET, Service

ACTIONS: dict[str, list[str]] = {
    "created": [],
    "processed": ["pay"],
    "rejected": ["decline"],
    "canceled": ["cancel"],
    "refunded": ["pay", "refund"],
    "chargeback": ["pay", "chargeback"],
}


@pytest.mark.spec("STA-01")
@pytest.mark.parametrize(("status", "actions"), ACTIONS.items())
def test_each_status_is_reached_and_listed(spec: Service, status: str, actions: list[str]) -> None:
    """An order is found under the status that it came to."""
    order_id = spec.order_id()
    for action in actions:
        spec.act(order_id, action)
    (item,) = spec.listed(("status[]", status)).json()["items"]
    assert (item["id"], item["status"]) == (order_id, status)


@pytest.mark.spec("STA-01", "STA-09")
def test_no_order_is_ever_pending(service: Service) -> None:
    """It is a status to filter by; nothing is shown that would lead there."""
    for actions in ACTIONS.values():
        order_id = service.order_id()
        for action in actions:
            service.act(order_id, action)
    answer = service.listed(("status[]", "pending"))
    assert (answer.status_code, answer.json()) == (200, {"count": 0, "items": None})
    assert {*ACTIONS, "pending"} == set(OrderStatus)


@pytest.mark.spec("EP4-05", "RFD-07", "STA-10", "EP1-01", "EP2-01", "EP3-01")
def test_the_service_has_the_operations_of_the_specification() -> None:
    """And a list with cursors, which the specification defines without an operation that uses it; nothing else."""
    rules = [rule for rule in ROUTES.iter_rules() if rule.rule.startswith(("/api/", "/merchant/"))]
    assert sorted((rule.rule, *sorted((rule.methods or set()) - {"HEAD"})) for rule in rules) == [
        ("/api/v1/order", "POST"),
        ("/api/v1/orders", "GET"),
        ("/api/v1/tokens", "POST"),
        ("/merchant/s2s/api/v1/order", "GET"),
    ]


@pytest.mark.spec("STA-10")
@pytest.mark.parametrize(
    "path", ["/api/v1/refund", "/api/v1/order/{}/refund", "/merchant/s2s/api/v1/order/{}/refund"]
)
def test_the_service_has_no_address_for_refunds(service: Service, path: str) -> None:
    """A refund is made by the merchant's staff at the service: here by the sandbox's own control API."""
    order_id = service.paid()
    assert service.post(path.format(order_id)).status_code == 404
    assert service.listed(("id", order_id)).json()["items"][0]["status"] == "processed"


@pytest.mark.spec("HTT-02")
def test_success_is_200(service: Service) -> None:
    """On each of the three endpoints, whatever the request says: nothing is merely accepted."""
    empty = service.listed()
    token = service.token({"type": "simple", "amount": 1, "currency": "USD"})
    created = service.create()
    answers = [
        empty,
        token,
        service.token({"type": "product", "products_ids": ["quest"]}, {"id": "player-1"}),
        created,
        service.post("/api/v1/order", {"token": token.json()["token"]}),
        service.create(order=created.json()["id"]),
        service.listed(),
        requests.get(f"{service.url}/api/v1/orders", auth=(PROJECT, SECRET), timeout=10),
    ]
    assert [answer.status_code for answer in answers] == [200] * 8


@pytest.mark.spec("EP2-16")
@pytest.mark.parametrize(("kind", "platform"), [("key", "gog"), ("product", "")])
def test_a_platform_is_used_for_keys_alone(service: Service, kind: str, platform: str) -> None:
    """The sender does not know a token's content: a platform beside a token without a key is left out."""
    token = service.token({"type": kind, "products_ids": ["quest"]}).json()["token"]
    answer = service.post("/api/v1/order", {"token": token, "platform_id": "gog"})
    (item,) = service.listed(("id", answer.json()["id"])).json()["items"]
    assert item.get("platform_id", "") == platform


@pytest.mark.spec("EP2-16")
@pytest.mark.parametrize("kind", ["simple", "product", "virtual_currency"])
def test_a_platform_beside_another_type_is_refused(service: Service, kind: str) -> None:
    """By its name; the specification uses it for keys."""
    checkout = {"products": ["quest"]} if kind == "product" else {"amount": 1, "currency": "USD"}
    answer = service.post(
        "/api/v1/order", {"project": PROJECT, "type": kind, "platform_id": "gog", **checkout}
    )
    assert (answer.status_code, "platform_id" in answer.json()["details"]) == (400, True)


@pytest.mark.spec("EP2-16")
def test_an_unknown_platform_is_refused(service: Service) -> None:
    """Nine names are shown."""
    document = {"project": PROJECT, "type": "key", "products": ["quest"], "platform_id": "amiga"}
    answer = service.post("/api/v1/order", document)
    assert (answer.status_code, "platform_id" in answer.json()["details"]) == (400, True)
