"""Render the pages: whole Jinja2 templates with autoescape on, so that no value can be left unescaped."""

from __future__ import annotations

import secrets
from decimal import Decimal
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from checkout_integration.sandbox.merchant import display_money

FORM_TOKEN: Final = secrets.token_urlsafe(32)
"""Posted back by the operator's forms; a page of another site cannot read it, so it cannot send it."""
TO_OPERATOR: Final = ("/_sandbox/", "Back to the operator")


def render(template: str, /, **values: Any) -> str:
    """Return the page of that name with its values; the operator's forms also show `form_token`."""
    return _environment().get_template(f"{template}.html").render(**values)


def message_page(heading: str, text: str, back: tuple[str, str] | None = None) -> str:
    """Return a page with one message, for instance that there is no such order; `back` is a link and its words."""
    return render("result", heading=heading, text=text, tone="bad", mark="?", back=back)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["money"] = _money
    environment.globals["form_token"] = FORM_TOKEN
    return environment


def _money(amount: Decimal | int, currency: str) -> str:
    return display_money(Decimal(amount), currency)
