"""Tokens, orders and lists over HTTP."""
