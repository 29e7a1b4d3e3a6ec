"""Accounts of a shop with logins by e-mail address."""
