"""Tests of the views, through Django and over raw sockets."""
