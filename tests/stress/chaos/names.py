"""Names that the shop and the trial share."""

from __future__ import annotations

from typing import Final

BULK: Final = "default"
"""Project whose notifications come from our own senders."""
BULK_SECRET: Final = "sandbox_chaos_bulk_secret"
SANDBOX: Final = "sandbox"
"""Project whose service is the sandbox, a process of its own."""
SANDBOX_SECRET: Final = "sandbox_chaos_service_secret"
SANDBOX_RETRY_SECONDS: Final = 1
ABANDONED_SECONDS: Final = 5
"""After how long a customer of the sandbox who has not paid is reminded."""
REFERENCE_KEY: Final = "checkout_reference"

WEB_WORKERS: Final = 3

EFFECTS: Final = "chaos_effect"
"""Table in the shop's database: one row per run of a receiver whose transaction was committed; it forbids no double."""
EFFECTS_TABLE: Final = f"""
CREATE TABLE {EFFECTS} (
    id bigserial PRIMARY KEY, key text NOT NULL, signal text NOT NULL, order_id text NOT NULL, attempt integer NOT NULL
)
"""
GRACE_SECONDS: Final = 3.0
"""How long what a killed worker had claimed is left to it."""
RETRY_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 2.0
"""How often beat asks for a drain here."""
