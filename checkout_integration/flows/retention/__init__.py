"""Remove what is older than RETENTION says, and needed for nothing any more.

`pruning` goes through the rows of a kind in batches. `kinds` says which rows of each kind may go, and what stays of them, so
that whatever is delivered again later changes nothing. See docs/retention.md.
"""

from checkout_integration.flows.retention.pruning import count_prunable, prune, prune_all

__all__ = [
    "count_prunable",
    "prune",
    "prune_all",
]
