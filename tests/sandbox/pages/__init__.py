"""The HTML of the pages."""
