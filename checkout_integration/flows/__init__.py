"""The things that happen: the only writer of state and the only caller of the client.

What a shop calls: `create_checkout`, `create_token`, `sync_transactions`, `refresh_order`, `replay_notification`,
`run_deliveries`.
"""

from checkout_integration.flows.announcement import run_deliveries

__all__ = ["run_deliveries"]
