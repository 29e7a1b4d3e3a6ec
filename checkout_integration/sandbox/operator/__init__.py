"""The operator's pages at /_sandbox/: everything that a developer can see and do in a browser.

- `overview`: the page itself, and the buttons of orders
- `order_row`: an order as the operator sees it, and what can be done with it
- `detail_views`: one order, one exchange
- `project_views`: the settings of a project
- `fault_views`: faults, switched on and off
- `clock_views`: the clock, moved and stopped
- `testing_views`: the testing cases
"""

from __future__ import annotations

from checkout_integration.sandbox.operator.clock_views import ClockViews
from checkout_integration.sandbox.operator.detail_views import DetailViews
from checkout_integration.sandbox.operator.fault_views import FaultViews
from checkout_integration.sandbox.operator.overview import OverviewViews
from checkout_integration.sandbox.operator.project_views import ProjectViews
from checkout_integration.sandbox.operator.testing_views import OperatorTestingViews

__all__ = [
    "ClockViews",
    "DetailViews",
    "FaultViews",
    "OperatorTestingViews",
    "OverviewViews",
    "ProjectViews",
]
