"""Stories played to a shop."""
