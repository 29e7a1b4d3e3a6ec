"""Rows and screens of the admin."""
