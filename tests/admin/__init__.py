"""Tests of the admin's screens, through Django's test client."""
