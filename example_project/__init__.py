"""Brightwick Games: a small game shop that sells through checkout-integration. ``python3 -m example_project`` runs it."""
