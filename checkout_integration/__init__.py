"""A pluggable Django app for a hosted checkout service: verified payments, durable signals, sync, admin, sandbox.

What is public, and what may change: docs/public.md.
"""

__all__ = ["__version__"]

__version__ = "1.0.0rc1"
