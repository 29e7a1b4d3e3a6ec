"""Tests of selling: create a checkout or a token."""
