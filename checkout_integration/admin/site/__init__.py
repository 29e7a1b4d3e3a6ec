"""The read-only base of all screens: lists, pages, buttons, labels, and values as HTML."""
