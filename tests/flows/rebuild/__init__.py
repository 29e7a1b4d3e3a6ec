"""Proof of state."""
