"""A running sandbox, a receiver for its notifications, and its description in openapi.yaml."""
