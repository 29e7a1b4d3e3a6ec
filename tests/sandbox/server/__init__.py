"""The application, its guards and its command line."""
