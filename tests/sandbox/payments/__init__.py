"""Tests of payments and their reversals."""
