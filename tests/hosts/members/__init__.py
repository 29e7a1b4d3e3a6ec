"""Accounts of a shop whose customers log in by e-mail address."""
