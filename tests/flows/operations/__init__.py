"""Tests of staff's operations."""
