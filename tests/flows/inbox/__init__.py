"""Tests of applying stored notifications."""
