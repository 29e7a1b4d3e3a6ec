"""Documents written by hand from the specification."""
