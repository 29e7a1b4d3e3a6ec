"""docs/fault-table.md equals the table of the tests, and the table has every fault."""

from __future__ import annotations

import pytest

from checkout_integration.sandbox.faults.catalogue import KINDS, FaultPoint
from tests.support.paths.fault_page import PAGE, page
from tests.support.paths.fault_rows import (
    API_ROWS,
    NOTIFICATION_ROWS,
    VALIDATION_ROWS,
    ApiRow,
    NotificationRow,
    ValidationRow,
)


def test_the_page_is_the_table() -> None:
    """Write it anew with `python3 -m tests.support.paths.fault_page`."""
    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize("point", FaultPoint)
def test_every_fault_has_a_row(point: FaultPoint) -> None:
    """A fault that is added to the switchboard is tried."""
    rows: list[ApiRow | NotificationRow | ValidationRow] = [*API_ROWS, *NOTIFICATION_ROWS, *VALIDATION_ROWS]
    tried = {row.rule["kind"] for row in rows if row.rule["point"] == point}
    assert tried == set(KINDS[point])
