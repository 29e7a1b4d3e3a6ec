"""Render the pages: whole Jinja2 templates with autoescape on, so that no value can be left unescaped."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from checkout_integration.sandbox.merchant.currencies import display_money


def render(template: str, /, **values: Any) -> str:
    """Return the page of that name with its values."""
    return _environment().get_template(f"{template}.html").render(**values)


def message_page(heading: str, text: str) -> str:
    """Return a page with one message, for instance that there is no such order."""
    return render("result", heading=heading, text=text, tone="bad", mark="?")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["money"] = lambda amount, currency: display_money(Decimal(amount), currency)
    return environment
