"""The alert rules of docs/monitoring, judged by what Prometheus would read now: their expressions are of one simple kind."""

from __future__ import annotations

import json
import operator
import re
from typing import Any, Final

import yaml
from prometheus_client.samples import Sample

from tests.support.documents import ROOT
from tests.support.measured import Measured

FOLDER: Final = ROOT / "docs" / "monitoring"
RULE: Final = re.compile(
    r"max\s*(?:by \((?P<by>[\w, ]+)\) )?\((?P<metric>\w+)(?:\{(?P<where>.*)\})?\) (?P<sign>>=|>) (?P<limit>\d+)"
)
CONDITION: Final = re.compile(r'(\w+)(=~|=)"([^"]*)"')
ABOUT_ALL: Final = {"CheckoutFailing": 2, "CheckoutLookAtIt": 1}
"""The rules about every finding, with the level from which they fire."""
SIGNS: Final = {">=": operator.ge, ">": operator.gt}


def rules() -> dict[str, dict[str, Any]]:
    """Return the rules by their names."""
    document = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    return {rule["alert"]: rule for group in document["groups"] for rule in group["rules"]}


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    found: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    return found


def firing(measured: Measured) -> set[str]:
    """Return the rules that are true now, whatever their ``for`` says; without those about every finding."""
    return firing_of_all(measured) - ABOUT_ALL.keys()


def firing_of_all(measured: Measured) -> set[str]:
    """Return the rules that are true now, those about every finding too."""
    samples = measured.samples()
    return {name for name, rule in rules().items() if is_true(str(rule["expr"]), samples)}


def is_true(expression: str, samples: list[Sample]) -> bool:
    """Return whether an expression has a result."""
    rule = RULE.fullmatch(expression)
    assert rule is not None, expression
    limit = float(rule["limit"])
    return any(SIGNS[rule["sign"]](each.value, limit) for each in samples if _is_meant(each, rule))


def _is_meant(sample: Sample, rule: re.Match[str]) -> bool:
    if sample.name != rule["metric"]:
        return False
    return all(
        re.fullmatch(text if sign == "=~" else re.escape(text), sample.labels.get(label, ""))
        for label, sign, text in CONDITION.findall(rule["where"] or "")
    )
