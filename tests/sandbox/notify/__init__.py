"""Tests of notifications to the merchant."""
