"""The customer's REST interface."""
