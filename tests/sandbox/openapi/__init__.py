"""openapi.yaml: that it is sound, that the sandbox keeps to it, and that every answer of the suite does."""
