"""A service of a few lines, and the calls that are tried on it."""
