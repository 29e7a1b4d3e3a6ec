"""Tests of reading the transaction list."""
