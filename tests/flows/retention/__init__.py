"""Tests of flows/retention."""
