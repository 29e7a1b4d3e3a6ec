"""The hosted form."""
