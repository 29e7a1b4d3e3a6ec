"""Pages about many rows: health, money, reconciliation."""
