"""Bodies that once broke something, as small as they still show it; each stays here for ever.

An entry is what the order (or the envelope, under "envelope") says. What happened then is the comment.
"""

from __future__ import annotations

from typing import Any

ONCE_BROKE: dict[str, dict[str, Any]] = {
    # PostgreSQL and MariaDB refused the row: "not applied", while SQLite applied it.
    "an id longer than its column": {"id": "x" * 256},
    # The warning about an unbound order was two lines of the log, the second one made up by a stranger.
    "an id with a line end": {"id": "order-1\n2026-01-01 ERROR forged", "status": "processed"},
}
