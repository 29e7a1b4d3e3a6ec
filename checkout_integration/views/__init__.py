"""Django's doors for the service and for returning customers: thin, no rules."""
