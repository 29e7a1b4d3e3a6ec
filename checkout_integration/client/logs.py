"""A filter for the log of the HTTP library: it cuts out query strings, since they name customers.

urllib3 writes the whole URL with each retry, as a warning. Only records of our own calls are changed.
"""

from __future__ import annotations

import logging

from checkout_integration.client.deadline import is_calling


class QueryFilter(logging.Filter):
    """Cuts the query off every URL in a record that this thread writes while a call of ours is running."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through, without queries."""
        if is_calling() and isinstance(record.args, tuple):
            record.args = tuple(_without_query(value) for value in record.args)
        return True


def _without_query(value: object) -> object:
    return value.partition("?")[0] if isinstance(value, str) else value


def cut_queries() -> None:
    """Install the filter, once, on the loggers with which urllib3 writes URLs."""
    for name in ("urllib3.connectionpool", "urllib3.util.retry"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, QueryFilter) for known in logger.filters):
            logger.addFilter(QueryFilter())
