"""Template tags: ``{% load checkout %}``."""
