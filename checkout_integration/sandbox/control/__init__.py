"""The JSON control API under /_sandbox/, for tests and scripts.

- `control_views`: orders, projects, clock, faults, run log
- `testing_views`: the testing cases
- `control_request`: the body of a request: every name and value is checked
"""

from __future__ import annotations

from checkout_integration.sandbox.control.control_request import PAYMENT_FIELDS
from checkout_integration.sandbox.control.control_views import ControlViews
from checkout_integration.sandbox.control.testing_views import (
    DEFAULT_TESTER,
    ControlTestingViews,
    run_testing_case,
)

__all__ = [
    "DEFAULT_TESTER",
    "PAYMENT_FIELDS",
    "ControlTestingViews",
    "ControlViews",
    "run_testing_case",
]
