"""Transactions, retries, and what differs per database."""
