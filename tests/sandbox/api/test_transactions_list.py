"""The transactions list: who may read it, each filter, and its edges."""

from __future__ import annotations

import base64
import uuid

import pytest
import requests

from checkout_integration.sandbox import SandboxProject
from tests.support.sandbox.service import PROJECT, SECRET, Service, running


@pytest.fixture
def history(field: Service) -> tuple[Service, list[str]]:
    """A sandbox with three orders, made at 12:00:00, 12:00:10 and 12:00:20; the second is paid."""
    orders = [field.order_id(account="anna-1", metadata={"reference": "r-1"})]
    field.advance(10)
    orders.append(field.paid(account="anna-2", metadata={"reference": "r-2", "other": "x"}))
    field.advance(10)
    orders.append(field.order_id(account="bob", metadata={"reference": "r-22"}))
    return field, orders


@pytest.mark.spec("EP3-01", "EP3-12", "SVC-04")
def test_orders_come_oldest_first(history: tuple[Service, list[str]]) -> None:
    """Without filters everything comes, in the order of creation, with its count."""
    service, orders = history
    answer = service.listed().json()
    assert answer["count"] == 3
    assert [item["id"] for item in answer["items"]] == orders


@pytest.mark.spec("EP3-03", "EP3-05", "EP3-06", "EP3-07", "EP3-08", "EP3-09", "EP3-10", "EP3-11")
@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([("status[]", "processed")], [1]),
        ([("status[]", "processed"), ("status[]", "created")], [0, 1, 2]),
        ([("status[]", "pending")], []),
        ([("account", "anna-2")], [1]),
        ([("invoice_id", "r-2")], [1]),
        ([("invoice_id", "x")], [1]),
        ([("invoice_id", "r-")], []),
        ([("invoice_id", "R-2")], []),
        ([("invoice_id", "%")], []),
        ([("invoice_id", "r__")], []),
        ([("project_date_from", "2026-03-04T12:00:10")], [1, 2]),
        ([("project_date_to", "2026-03-04T12:00:10")], [0, 1]),
        ([("project_date_from", "2026-03-04T12:00:10"), ("project_date_to", "2026-03-04T12:00:10")], [1]),
        (
            [("project_date_from", "2026-03-04T12:00:00"), ("project_date_from", "2026-03-04T12:00:10")],
            [0, 1],
        ),
        (
            [
                ("project_date_from", "2026-03-04T12:00:00"),
                ("project_date_from", "2026-03-04T12:00:10"),
                ("project_date_to", "2026-03-04T12:00:20"),
            ],
            [0, 1, 2],
        ),
        ([("limit", "1")], [0]),
        ([("limit", "2"), ("offset", "1")], [1, 2]),
        ([("offset", "3")], []),
        ([("project[]", PROJECT)], [0, 1, 2]),
        ([("project[]", "another")], []),
    ],
)
def test_each_filter_narrows(
    history: tuple[Service, list[str]], pairs: list[tuple[str, str]], found: list[int]
) -> None:
    """Each filter finds exactly what it names; both ends of the period are inclusive."""
    service, orders = history
    assert service.listed_ids(*pairs) == [orders[index] for index in found]


@pytest.mark.spec("EP3-03")
def test_an_order_is_found_by_its_id(history: tuple[Service, list[str]]) -> None:
    """`id` finds one order."""
    service, orders = history
    assert service.listed_ids(("id", orders[1])) == [orders[1]]


@pytest.mark.spec("EP3-03")
def test_an_identifier_of_the_merchant_is_no_id(spec: Service) -> None:
    """`id` is the service's identifier: what the merchant wrote into the metadata finds nothing."""
    spec.order_id(account="r-7", metadata={"reference": "r-7"})
    assert spec.listed_ids(("id", "r-7")) == []


@pytest.mark.spec("EP3-05")
@pytest.mark.parametrize(("profile", "count"), [("field", 2), ("spec", 1)])
def test_a_plain_status_is_ignored_in_the_field(profile: str, count: int) -> None:
    """`status=` without brackets filters by the specification only; the field returns everything."""
    with running(profile=profile) as service:
        service.order_id()
        service.paid()
        assert service.listed(("status", "processed")).json()["count"] == count


@pytest.mark.spec("EP3-12")
def test_no_result_is_null(service: Service) -> None:
    """Nothing found is a count of 0 and null, to the byte."""
    assert service.listed(("id", str(uuid.uuid4()))).content == b'{"count":0,"items":null}'


@pytest.mark.spec("EP3-08", "EP3-10", "EP3-11")
@pytest.mark.spec("EP3-12", "HTT-05")
@pytest.mark.parametrize(
    "pair",
    [
        ("limit", "1001"),
        ("limit", "-1"),
        ("limit", "ten"),
        ("offset", "-1"),
        ("project_date_from", "2026-03-04"),
        ("project_date_from", "2026-03-04T12:00:00Z"),
        ("project_date_to", "2026-13-04T12:00:00"),
        ("project_date_to", "2026-03-04T12:00:00.5"),
        pytest.param(("status[]", "paid"), marks=pytest.mark.spec("EP3-05", "STA-01")),
        pytest.param(("status[]", "Processed"), marks=pytest.mark.spec("EP3-05", "STA-01")),
    ],
)
@pytest.mark.spec("EP3-07")
def test_an_unreadable_filter_is_refused(service: Service, pair: tuple[str, str]) -> None:
    """A limit out of range, or a time of another form, is a 400 with the error object."""
    answer = service.listed(pair)
    assert answer.status_code == 400
    assert set(answer.json()) == {"code", "message", "details"}


@pytest.mark.spec("EP3-10", "EP3-12", "LIM-02", "EP4-04")
def test_a_page_has_a_hundred_items(field: Service) -> None:
    """Without a limit a page ends after one hundred items, while the count is of all."""
    for _ in range(101):
        field.sandbox.creation.create_order(
            {"project": PROJECT, "type": "simple", "amount": 1, "currency": "USD"}, None
        )
    answer = field.listed().json()
    assert set(answer) == {"count", "items"}
    assert (answer["count"], len(answer["items"])) == (101, 100)
    for limit in (2, 99, 101, 1000):
        assert len(field.listed(("limit", str(limit))).json()["items"]) == min(limit, 101)


@pytest.mark.spec("EP3-02", "AUT-03", "AUT-05", "HTT-06")
def test_the_list_needs_the_secret(service: Service) -> None:
    """A wrong secret, or none, is a 401 with the field's short message."""
    wrong = service.listed(secret="sandbox_wrong")
    missing = requests.get(service.url + "/merchant/s2s/api/v1/order", timeout=10)
    assert [wrong.status_code, missing.status_code] == [401, 401]
    assert wrong.json()["message"] == "Unauthorized"
    pair = base64.b64encode(f"{PROJECT}:{SECRET}".encode()).decode()
    for login, password in (
        (PROJECT, ""),
        (PROJECT, f"{SECRET} "),
        (PROJECT, f" {SECRET}"),
        (PROJECT, SECRET.upper()),
        ("", SECRET),
    ):
        assert service.listed(project=login, secret=password).status_code == 401
    for authorization, status in {
        f"Basic {pair}": 200,
        f"basic {pair}": 200,
        f"Bearer {pair}": 401,
        f"Signature {pair}": 401,
        pair: 401,
        f"Basic {PROJECT}:{SECRET}": 401,
    }.items():
        answer = requests.get(
            service.url + "/merchant/s2s/api/v1/order", headers={"Authorization": authorization}, timeout=10
        )
        assert answer.status_code == status


@pytest.mark.spec("EP3-02", "AUT-03", "AUT-05")
@pytest.mark.parametrize(("profile", "status"), [("field", 500), ("spec", 401)])
def test_an_unknown_login_fails(profile: str, status: int) -> None:
    """A login that is no project is a 500 in the field."""
    with running(profile=profile) as service:
        assert service.listed(project="nobody").status_code == status


@pytest.mark.spec("EP3-04")
def test_all_projects_of_the_merchant_are_searched(field: Service) -> None:
    """Projects of the same merchant are seen unless project[] narrows them; other merchants' never."""
    add = field.sandbox.projects.add
    add(SandboxProject(project_id="project-2", secret_key=SECRET))
    add(SandboxProject(project_id="foreign", secret_key=SECRET, merchant="other"))
    orders = [field.order_id(project=project) for project in (PROJECT, "project-2", "foreign")]
    assert field.listed_ids() == orders[:2]
    assert field.listed_ids(("project[]", "project-2")) == [orders[1]]
    assert field.listed_ids(("project[]", "foreign")) == []
    assert field.listed_ids(("project[]", "foreign"), ("project[]", PROJECT)) == orders[:1]


@pytest.mark.spec("ORD-01", "ORD-02", "ORD-04", "ORD-05", "ORD-06", "ORD-32")
@pytest.mark.spec("STA-06", "STA-07")
@pytest.mark.parametrize(("action", "status"), [("refund", "refunded"), ("chargeback", "chargeback")])
def test_a_reversal_is_a_second_item_in_the_field(field: Service, action: str, status: str) -> None:
    """It has an id and a time of its own, and the transaction, metadata and description of the paid order."""
    order_id = field.paid(metadata={"reference": "r"}, description="A hat")
    field.advance(60)
    field.act(order_id, action)
    original, second = field.listed(("invoice_id", "r")).json()["items"]
    assert original["id"] == order_id != second["id"]
    assert second["status"] == original["status"] == status
    assert second["created_at"] == "2026-03-04T12:01:00Z" != original["created_at"]
    for name in ("transaction", "metadata", "description", "amount"):
        assert second[name] == original[name]


@pytest.mark.spec("STA-06")
def test_a_refund_changes_the_order_itself_by_the_specification(spec: Service) -> None:
    """There is one item, and it is refunded."""
    order_id = spec.paid()
    spec.act(order_id, "refund")
    (item,) = spec.listed().json()["items"]
    assert (item["id"], item["status"], item["refunded"]) == (order_id, "refunded", True)


@pytest.mark.spec("STA-07", "ORD-10", "ORD-11", "ORD-31")
def test_a_chargeback_is_no_refund_by_the_specification(spec: Service) -> None:
    """Only the status changes, in the notification as in the list; of a refund the other fields speak too."""
    charged_back, refunded = spec.paid(), spec.paid()
    spec.act(charged_back, "chargeback")
    spec.act(refunded, "refund")
    notified = {each.document["object"]["id"]: each.document["object"] for each in spec.receiver.received[2:]}
    for orders in (notified, {item["id"]: item for item in spec.listed().json()["items"]}):
        shown = {
            order_id: (order["status"], order["refunded"], order["refunded_at"], order["refund"] is None)
            for order_id, order in orders.items()
        }
        assert shown == {
            charged_back: ("chargeback", False, "", True),
            refunded: ("refunded", True, "2026-03-04T12:00:00Z", False),
        }


@pytest.mark.spec("ORD-10")
def test_a_listed_chargeback_is_not_refunded_in_the_field(field: Service) -> None:
    """The message says `refunded`, the list does not."""
    order_id = field.paid()
    field.act(order_id, "chargeback")
    assert field.receiver.received[-1].document["object"]["refunded"] is True
    assert {item["refunded"] for item in field.listed().json()["items"]} == {False}


@pytest.mark.spec("EP3-11", "EP3-12")
def test_a_page_read_again_shows_what_changed(field: Service) -> None:
    """Reading on and reading again is right after an order was added or changed in between."""
    orders = [field.order_id(account="anna") for _ in range(4)]
    first = [("status[]", "created"), ("limit", "2")]
    assert field.listed_ids(*first) == orders[:2]
    assert field.listed_ids(*first, ("offset", "1")) == orders[1:3]
    field.act(orders[0], "pay")
    assert field.listed_ids(*first, ("offset", "1")) == orders[2:4]
    orders.append(field.order_id())
    assert field.listed(*first).json()["count"] == 4


@pytest.mark.spec("EP3-11", "EP3-12")
def test_an_offset_beyond_the_last_is_an_empty_page(field: Service) -> None:
    """However far it is; the number of all stays."""
    field.order_id()
    answers = [field.listed(("offset", offset)).json() for offset in ("0", "1", "11", "1001", "1000000")]
    assert [(len(each["items"] or []), each["count"]) for each in answers] == [(1, 1), *[(0, 1)] * 4]


@pytest.mark.spec("EP3-10", "EP3-11")
def test_reading_on_begins_at_each_known_place(field: Service) -> None:
    """Overlapping pages, as a careful client reads them, have exactly the orders of their offsets."""
    orders = [field.order_id() for _ in range(7)]
    for offset in (0, 2, 4, 3, 6, 7, 1):
        expected = orders[offset : offset + 3]
        assert field.listed_ids(("limit", "3"), ("offset", str(offset))) == expected
