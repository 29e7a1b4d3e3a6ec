"""Django views for the service and for returning customers: thin, without rules."""
