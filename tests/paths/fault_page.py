"""docs/fault-table.md: `python3 -m tests.paths.fault_page` writes it from the table that the tests obey."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.paths.fault_rows import API_ROWS, CALLS, NOTIFICATION_ROWS, VALIDATION_ROWS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fault-table.md"


def page() -> str:
    """Write docs/fault-table.md."""
    return "\n".join([*_head(), *_api_table(), *_notification_table(), *_validation_table()]) + "\n"


def _head() -> list[str]:
    return [
        "# Every fault and its end",
        "",
        "<!-- Written by `python3 -m tests.paths.fault_page`; a test compares it with the table that the tests obey. -->",
        "",
        "The sandbox breaks on demand (operator page, `PUT /_sandbox/faults`, `sandbox.faults`, or `fault` in a scenario).",
        "Each line is a test over real sockets: `tests/paths/test_faults_api.py`, `test_faults_notifications.py`,",
        "`test_faults_validation.py`.",
        "",
    ]


def _api_table() -> list[str]:
    return [
        "## Faults of the API",
        "",
        "What each call of the client ends in, and how many requests it made. Creating an order is never repeated: the last",
        "column says how many orders exist at the service then. No message of an error holds the secret, the customer or the",
        "query. A redirect is not followed: its target hears nothing. The list holds 12 orders and is read in pages of 6",
        "that overlap, which takes 4 requests. `items: null` in every answer cannot be told from a wrong `count`: the pager",
        "asks three times, then believes it.",
        "",
        f"| fault | rule | {' | '.join(f'`{call}`' for call in CALLS)} | orders |",
        "|---|---|---|---|---|---|---|",
        *(f"| {row.name} | {_rule(row.rule)} | {' | '.join(row.ends)} | {row.orders} |" for row in API_ROWS),
        "",
    ]


def _notification_table() -> list[str]:
    return [
        "## Faults of notifications",
        "",
        "What the shop has made of it in the end. Numbers in a story are seconds of virtual time; what is refused comes",
        "again after 600, three times in all. Granted and taken back count the runs of the shop's receivers of",
        "`checkout_paid` and `checkout_reversed`. Each line holds under both profiles of the sandbox, unless it names one.",
        "",
        "| fault | rule | story | answered | order | granted | taken back | kept | incidents |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {row.name} | {_rule(row.rule)} | {', '.join(map(str, row.story))} | {row.answers or 'never'} | {row.status}"
            f" | {row.granted} | {row.taken_back} | {row.kept} | {', '.join(row.incidents) or 'none'} |"
            for row in NOTIFICATION_ROWS
        ),
        "",
    ]


def _validation_table() -> list[str]:
    return [
        "## Faults of user.validate",
        "",
        "The question before a payment, in pre-approval mode, about a customer whom the shop knows. What the buyer reads on",
        "the form when it is refused stands in the last column. In the profile `field` the order stays `created` then,",
        "and can be paid at once; in `spec` it is canceled, and payment.cancel says so.",
        "",
        "| fault | rule | answered | outcome | the form says |",
        "|---|---|---|---|---|",
        *(
            f"| {row.name} | {_rule(row.rule)} | {row.answers or 'never'} | {row.outcome} | {row.words} |"
            for row in VALIDATION_ROWS
        ),
    ]


def _rule(rule: Mapping[str, Any]) -> str:
    more = [f"{name} {value}" for name, value in rule.items() if name not in {"point", "kind"}]
    return ", ".join([f"`{rule['kind']}`", *more])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
