"""Observations, checkouts and histories for the tests of policy."""
