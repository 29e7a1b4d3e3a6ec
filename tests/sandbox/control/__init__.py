"""The JSON control API."""
