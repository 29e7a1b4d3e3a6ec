"""docs/fault-table.md: `python3 -m tests.support.paths.fault_page` writes it from the table that the tests obey."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.paths.fault_rows import API_ROWS, CALLS, NOTIFICATION_ROWS, VALIDATION_ROWS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fault-table.md"


def page() -> str:
    """Write docs/fault-table.md."""
    return "\n".join([*_head(), *_api_table(), *_notification_table(), *_validation_table()]) + "\n"


def _head() -> list[str]:
    return [
        "# Every fault and its end",
        "",
        "<!-- Written by `python3 -m tests.support.paths.fault_page`; a test compares it with the tests' table. -->",
        "",
        "At the end of this page you know what becomes of a payment in each fault of the service and of the network.",
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
        "The result of each call of the client, and the number of its requests. Creating an order is never retried: the last",
        "column is the number of orders at the service afterwards. No error message has the secret, the customer or the",
        "query. The client follows no redirect: its target receives nothing. The list has 12 orders and is read in",
        "overlapping pages of 6, which takes 4 requests. `items: null` in every response looks like a wrong `count`: the",
        "pager requests the page three times, then accepts it.",
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
        "The final state of the shop. Numbers in a story are seconds of virtual time; a refused notification is sent",
        "again after 600 seconds, three times in all. Granted and revoked count the runs of the shop's receivers of",
        "`checkout_paid` and `checkout_reversed`. Each line applies to both profiles of the sandbox, unless it names one.",
        "",
        "| fault | rule | story | responses | order | granted | revoked | stored | incidents |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {row.name} | {_rule(row.rule)} | {', '.join(map(str, row.story))} | {row.answers or 'never'} | {row.status}"
            f" | {row.granted} | {row.taken_back} | {row.stored} | {', '.join(row.incidents) or 'none'} |"
            for row in NOTIFICATION_ROWS
        ),
        "",
    ]


def _validation_table() -> list[str]:
    return [
        "## Faults of user.validate",
        "",
        "In pre-approval mode the service sends user.validate before a payment; here the shop knows the customer. The last",
        "column is what the customer reads on the form. After a refusal, the order stays `created` in the profile `field`,",
        "and can be paid at once; in `spec` it is canceled, and payment.cancel is sent.",
        "",
        "| fault | rule | responses | outcome | the form says |",
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
