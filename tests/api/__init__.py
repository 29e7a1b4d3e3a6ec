"""The buyer's REST interface."""
