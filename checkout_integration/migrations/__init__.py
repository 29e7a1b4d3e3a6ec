"""Changes of the tables, one release after the other."""
