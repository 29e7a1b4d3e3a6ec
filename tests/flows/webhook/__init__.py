"""Tests of receiving notifications and answering user.validate."""
