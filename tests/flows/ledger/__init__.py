"""Tests of the only writer of orders."""
