"""Remove what is older than RETENTION says, and needed for nothing any more. See docs/retention.md."""

from checkout_integration.flows.retention.pruning import count_prunable, prune, prune_all

__all__ = [
    "count_prunable",
    "prune",
    "prune_all",
]
