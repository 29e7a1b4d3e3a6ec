"""Attempts to break the product: kills, hostile inputs, hosts, leaks, seeded defects and mutants."""
