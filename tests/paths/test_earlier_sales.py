"""The earlier sales of the example: the shop learns from the list alone what became of each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from example_project.earlier_sales import DAYS, NUMBER, End, Sale, sales
from example_project.ports import free_pair
from tests.support.paths.example import ROOT, environment

UNTIL = datetime(2026, 5, 31, 12, tzinfo=UTC)
SHOP = """
import json, sys
from dataclasses import replace
from pathlib import Path
from example_project import earlier_sales
from example_project.processes import Places, running

places = Places(folder=Path(sys.argv[1]), shop_port=int(sys.argv[2]), service_port=int(sys.argv[2]) + 1, earlier_sales=True)
assert places.begins
with running(places):
    from checkout_integration import flows
    from checkout_integration.models import Checkout, Order, ReceiverRun
    from example_project.shop.models import InventoryItem

    while ReceiverRun.objects.filter(state__in=["due", "running"], attempts=0, postponed_for="").exists():
        flows.run_due()
    found = {
        "statuses": dict(Checkout.objects.values_list("reference", "status")),
        "owned": sorted(InventoryItem.objects.filter(taken_back_at=None).values_list("checkout__reference", flat=True)),
        "sold": {each.reference: [each.end, each.slug] for each in earlier_sales.sales(earlier_sales.present())},
        "orders": Order.objects.count(),
        "receipts": [each.receipt_url for each in Order.objects.filter(status="processed")],
        "unknown": [each.description for each in Order.objects.filter(checkout=None)],
        "guests": list(Checkout.objects.filter(user=None).values_list("reference", flat=True)),
        "waiting": list(
            ReceiverRun.objects.exclude(postponed_for="").values_list("message__checkout__reference", flat=True)
        ),
        "review": list(Checkout.objects.filter(status="review").values_list("description", flat=True)),
        "service": places.service,
    }
assert not places.begins
print(json.dumps(found))
"""
STATUSES = {
    End.PAID: "paid",
    End.ABANDONED: "open",
    End.DECLINED: "cancelled",
    End.REFUNDED: "reversed",
    End.REFUNDED_IN_PART: "paid",
    End.CHARGED_BACK: "reversed",
    End.UNDERPAID: "review",
}


def plan() -> list[Sale]:
    """Every sale."""
    return list(sales(UNTIL))


def test_the_plan_is_the_same_for_everybody() -> None:
    """Shop and service read it in processes of their own."""
    assert plan() == plan()


def test_the_plan_shows_something_of_everything() -> None:
    """Every end, several currencies, three months, today as well; nothing ends in the future."""
    sold = plan()
    assert 0.9 * NUMBER < len(sold) <= NUMBER
    assert {sale.end for sale in sold} == set(End)
    assert {sale.currency for sale in sold} == {"USD", "EUR", "GBP", "JPY"}
    assert UNTIL - timedelta(days=DAYS + 1) < sold[0].sold_at < UNTIL - timedelta(days=DAYS - 2)
    assert any(sale.sold_at.date() == UNTIL.date() for sale in sold)
    assert all(sale.sold_at < sale.ended_at <= UNTIL for sale in sold)
    assert len({sale.reference for sale in sold}) == len(sold)


@pytest.mark.slow
def test_the_shop_learns_what_became_of_each(tmp_path: Path) -> None:
    """At the first start; each verified payment is granted, but for what the shop has forgotten, and what guests bought."""
    done = subprocess.run(
        [sys.executable, "-c", SHOP, str(tmp_path), str(free_pair())],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    sold = {reference: (End(end), slug) for reference, (end, slug) in found["sold"].items()}
    expected = {reference: STATUSES.get(end, "") for reference, (end, _) in sold.items()}
    wrong = {
        name: (sold[name], status) for name, status in found["statuses"].items() if status != expected[name]
    }
    assert Counter(map(str, wrong.values())) == {}
    owners = {name for name, (end, slug) in sold.items() if expected[name] == "paid" and slug != "paper-moon"}
    guests = owners & set(found["guests"])
    assert guests and set(found["waiting"]) == guests, "what guests bought waits for their accounts"
    assert set(found["owned"]) == owners - guests
    assert found["orders"] == len(sold)
    assert found["receipts"]
    assert all(each.startswith(f"{found['service']}/receipt/") for each in found["receipts"]), "they open"
    assert len(found["unknown"]) == sum(end is End.WITHOUT_CHECKOUT for end, _ in sold.values())
    assert all("staged" in each for each in [*found["unknown"], *found["review"]])
