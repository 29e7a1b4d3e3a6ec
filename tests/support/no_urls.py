"""A URLconf without the addresses of the app."""

from __future__ import annotations

from typing import Any

urlpatterns: list[Any] = []
