"""docs/sizing.md: its tables are products of what it says was measured, and its command is one of the benchmarks."""

from __future__ import annotations

import re
import shlex

import pytest

from benchmarks import goals
from tests.support.documents import ROOT, block

TEXT = (ROOT / "docs" / "sizing.md").read_text(encoding="utf-8")
MILLISECONDS = [float(each) for each in re.findall(r"\| (\d+\.\d) ms \|", TEXT)]
RATES = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ", TEXT, re.MULTILINE)
YEARS = re.findall(r"^\| ([\d,]+) \| ([\d,]+) GB \|$", TEXT, re.MULTILINE)
FREE = 2
"""Half of each core stays free."""


def number(text: str) -> float:
    """Return a number as the page writes it."""
    return float(text.replace(",", ""))


@pytest.mark.parametrize("row", RATES, ids=lambda row: row[0])
def test_the_cores_are_what_the_payments_take(row: tuple[str, ...]) -> None:
    """Rate, processor time, and half of each core."""
    rate, *cores = (number(each) for each in row)
    assert cores == pytest.approx([rate * each / 1000 * FREE for each in MILLISECONDS], abs=0.051)


@pytest.mark.parametrize("row", YEARS, ids=lambda row: row[0])
def test_the_tables_grow_as_the_page_says(row: tuple[str, str]) -> None:
    """By the bytes of a payment, which docs/benchmarks.md has too."""
    (kilobytes,) = re.findall(r"A payment takes (\d+\.\d) kB", TEXT)
    assert f"| {kilobytes} kB |" in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    payments, gigabytes = (number(each) for each in row)
    assert gigabytes == pytest.approx(payments * 365 * float(kilobytes) / 1e6, abs=0.51)


def test_each_table_is_there() -> None:
    """Three costs, three rates, and four sizes of a shop."""
    assert (len(MILLISECONDS), len(RATES), len(YEARS)) == (3, 3, 4)


def test_the_benchmark_of_the_page_is_one() -> None:
    """Each of its words."""
    words = shlex.split(block("docs/sizing.md", "$ python3 -m benchmarks ingest chain --rounds 1"))
    assert set(words[words.index("benchmarks") + 1 : words.index("--rounds")]) <= set(goals.WORDS)
