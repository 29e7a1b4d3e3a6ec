"""openapi.yaml: that it is sound, that the sandbox obeys it, and that every response of the suite does."""
