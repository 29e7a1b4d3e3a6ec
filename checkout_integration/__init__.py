"""A pluggable Django app for a hosted checkout service."""
