"""Tests with real worker processes on the database of the test run."""
