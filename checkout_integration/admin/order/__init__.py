"""Orders: their list with its search box, and the page of one with summary, details, buttons and timeline."""
