"""Views without a transaction around them: their flows open their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import connections, transaction
from django.http.response import HttpResponseBase

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def outside_transactions(view: View) -> View:
    """Return the view without the transaction of ATOMIC_REQUESTS, whichever database state lives in."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view
