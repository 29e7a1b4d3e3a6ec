"""Tests of erasing a customer."""
