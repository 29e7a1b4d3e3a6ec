"""A shop's module that fails when it is imported."""

from __future__ import annotations

1 / 0  # noqa: B018  # that is its purpose
