"""Tests of stored state and restarts."""
