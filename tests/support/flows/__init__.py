"""A shop and its trials, for the tests of flows and of all above them."""
