"""Tests of the command that measures the app beside its peer."""
