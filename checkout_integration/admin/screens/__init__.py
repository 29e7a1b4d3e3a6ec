"""The tables of staff: a list of each, and the page of a row."""
