"""Tests of signals on their way to receivers."""
