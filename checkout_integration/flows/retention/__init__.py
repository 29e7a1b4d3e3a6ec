"""Remove what is older than RETENTION says, and needed for nothing any more; and test data. See docs/retention.md."""

from checkout_integration.flows.retention.of_tests import (
    Protected,
    count_test_data,
    count_undeletable,
    delete_test_data,
    has_test_data,
    refuse_protected,
)
from checkout_integration.flows.retention.pruning import count_prunable, prune, prune_all

__all__ = [
    "Protected",
    "count_prunable",
    "count_test_data",
    "count_undeletable",
    "delete_test_data",
    "has_test_data",
    "prune",
    "prune_all",
    "refuse_protected",
]
