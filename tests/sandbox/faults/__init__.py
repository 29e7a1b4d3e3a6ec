"""Tests of the fault switchboard."""
