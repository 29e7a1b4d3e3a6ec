"""Thirty questions of newcomers: each is answered on a page, at most two clicks from the documentation's first page."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.support.documents import ROOT

DOCS = ROOT / "docs"
ROW = re.compile(r"^\| (?P<page>\[.+?\]\(.+?\).*?) \| (?P<text>.+) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a newcomer asks, the word they look for on the first page, and where the answer is."""

    asks: str
    looks_for: str
    answer: str


QUESTIONS = [
    Question(asks=asks, looks_for=looks_for, answer=answer)
    for asks, looks_for, answer in [
        ("How does my view know that a payment arrived?", "owns", "shop-pages.md#who-owns-what"),
        ("My receiver raises. What now?", "receiver", "debugging.md#run-it-again"),
        (
            "How do I try a chargeback on my machine?",
            "chargebacks",
            "sandbox.md#one-act-from-a-second-terminal",
        ),
        ("How do I refund, by code or in the admin?", "refunds", "refunds.md"),
        ("How do renewals work?", "subscriptions", "renewals.md"),
        ("My accounts have UUIDs. Does that work?", "UUIDs", "faq.md"),
        ("May I sell in EUR, and how many decimals?", "currencies", "selling.md#simple-checkout"),
        ("How do I deploy to Kubernetes?", "Kubernetes", "containers.md#kubernetes"),
        ("How do I upgrade?", "upgrade", "upgrading.md"),
        ("What about the GDPR?", "GDPR", "personal-data.md#erasing-a-customer"),
        ("How do I move from dj-stripe?", "dj-stripe", "moving.md"),
        ("How does the real test mode reach my machine?", "tunnel", "tunnel.md"),
        ("How do I sell a cart of several items?", "baskets", "selling.md#a-basket-of-several-things"),
        ("How do I rotate the key?", "rotate", "SECURITY.md#replacing-a-secret-key"),
        ("Two projects in one shop?", "several projects", "several-projects.md"),
        ("Who tells me when webhooks stop?", "alerts", "health.md#alerts-that-your-shop-sends-itself"),
        ("Is there an interface for a single-page shop, or Unity?", "Unity", "reference/rest.md"),
        ("How do I test without a network?", "test your shop", "reference/testing.md"),
        ("What does a double click do?", "double click", "selling.md#a-double-click-sells-once"),
        ("Where are fees, payouts, and a CSV file?", "CSV", "money.md#lists-as-files-csv"),
        # Ten more, written down before the pages that answer them.
        ("Does it work behind PgBouncer?", "PgBouncer", "postgresql.md#behind-pgbouncer"),
        ("How many workers for 100 payments a second?", "100", "sizing.md"),
        ("How do I sell from an async view?", "async", "async.md"),
        ("The webhook answers 401. Why?", "status", "troubleshooting.md#webhook-signature-tunnel"),
        ("How do I move from SQLite to PostgreSQL?", "SQLite", "move-database.md"),
        ("How do I give something away for free?", "free", "free-items.md"),
        ("How do I debug a receiver with a breakpoint?", "breakpoints", "debugging.md#stop-in-it"),
        ("My receiver calls a slow API. Who waits?", "slow", "fast-receivers.md"),
        ("Workers on several machines, and two beats?", "several machines", "celery.md#one-beat-or-two"),
        ("How does a customer cancel a subscription?", "cancels", "renewals.md#a-customer-cancels"),
    ]
]


def slug(heading: str) -> str:
    """Return the name by which a heading is linked, as GitHub and the site make it."""
    plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower())
    return plain.strip().replace(" ", "-")


def text_of(page: str) -> str:
    """Return a page's text, by its path from docs/ or from the repository."""
    file = DOCS / page
    return (file if file.exists() else ROOT / page).read_text(encoding="utf-8")


def rows_with(word: str) -> set[str]:
    """Return the pages of the first page's rows that have a word: what a reader clicks on who looks for it."""
    index = text_of("README.md")
    found = set()
    for row in ROW.finditer(index):
        if word.lower() in f"{row['page']} {row['text']}".lower():
            found |= {page.removeprefix("../") for page, _ in LINK.findall(row["page"])}
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.asks)
def test_the_answer_is_two_clicks_away(question: Question) -> None:
    """One to the page, by a word of its row, or to a page that links there; one to its heading."""
    page, _, heading = question.answer.partition("#")
    clicked = rows_with(question.looks_for)
    assert page in clicked, f"the rows with {question.looks_for!r} lead to {sorted(clicked)}"
    assert len(clicked) <= 5, "a word that is everywhere leads nowhere"
    headings = [slug(line.lstrip("# ")) for line in text_of(page).splitlines() if line.startswith("#")]
    assert not heading or heading in headings


def test_there_are_thirty() -> None:
    """Each is asked once."""
    assert len({question.asks for question in QUESTIONS}) == 30
