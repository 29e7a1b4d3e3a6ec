"""Apply stored notifications."""
