"""Orders and their documents."""
