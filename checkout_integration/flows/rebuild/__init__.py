"""Proof of state: orders computed anew from what is stored about them, and compared with their rows.

`evidence` reads what is stored about a batch of orders, `verdicts` decides checkout and verdict once more, `comparing` says
what differs, and `rebuilding` goes through the orders. Nothing is written. See docs/reconciliation.md.
"""

from checkout_integration.flows.rebuild.comparing import FieldDifference
from checkout_integration.flows.rebuild.evidence import Gap
from checkout_integration.flows.rebuild.rebuilding import RebuiltOrder, rebuild_orders

__all__ = ["FieldDifference", "Gap", "RebuiltOrder", "rebuild_orders"]
