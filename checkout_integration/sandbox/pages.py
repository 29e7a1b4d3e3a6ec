"""Filling the HTML pages: every value is escaped by MarkupSafe, none can be forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Final

from markupsafe import Markup

from checkout_integration.sandbox.currencies import display_money
from checkout_integration.sandbox.order import Order

FORM_TOKEN: Final = secrets.token_urlsafe(32)
"""What the operator's forms bring back: only our own pages can read it, so no page of another site can send it."""


@cache
def _template(name: str) -> Markup:
    return Markup(files(__package__).joinpath("templates", f"{name}.html").read_text("utf-8"))  # noqa: S704


def fill(template: str, /, **values: Any) -> Markup:
    """Return the page part of that name with its values, each escaped unless it is Markup itself.

    Templates of the operator's forms also show `form_token`.
    """
    return _template(template).format(form_token=FORM_TOKEN, **values)


def page(title: str, content: Markup, *, width: str = "", event: str = "", scheme: str = "") -> Markup:
    """Return a whole page with the sandbox's banner.

    `event` is what the page around the frame is told; `scheme` is light, dark, or "" for the buyer's own.
    """
    return fill("layout", title=title, content=content, width=width, event=event, scheme=scheme)


def joined(parts: list[Markup]) -> Markup:
    """Return the parts one after the other."""
    return Markup().join(parts)


def choices(texts: Mapping[str, str], chosen: str = "") -> Markup:
    """Return the options of a select: value to text, one of them chosen."""
    return joined(
        [
            Markup('<option value="{}"{}>{}</option>').format(
                value, Markup(" selected") if value == chosen else "", text
            )
            for value, text in texts.items()
        ]
    )


def input_field(
    name: str,
    label: str,
    typed: Mapping[str, str],
    problems: Mapping[str, str],
    placeholder: str = "",
    inputmode: str = "text",
    *,
    needed: bool = True,
) -> Markup:
    """Return a labelled field with what was typed in it before, and with its problem if it has one."""
    problem = problems.get(name)
    state, error = Markup("required") if needed else Markup(), Markup()
    if problem:
        state = Markup('required aria-invalid="true" aria-describedby="{}-error"').format(name)
        error = Markup('<p class="error" id="{}-error">{}</p>').format(name, problem)
    return fill(
        "field",
        name=name,
        label=label,
        kind="email" if inputmode == "email" else "text",
        value=typed.get(name, ""),
        inputmode=inputmode,
        placeholder=placeholder,
        state=state,
        error=error,
    )


def select_field(name: str, label: str, texts: Mapping[str, str], typed: Mapping[str, str]) -> Markup:
    """Return a labelled choice of one of `texts` (value to text), with what was chosen before."""
    return fill("select", name=name, label=label, options=choices(texts, typed.get(name, "")))


def line(left: str, right: str, kind: str = "") -> Markup:
    """Return one line of a summary."""
    return Markup('<li class="{}"><span>{}</span><span>{}</span></li>').format(kind, left, right)


def price_lines(order: Order, label: str = "") -> Markup:
    """Return what is bought, the tax, and the total; `label` stands for the description of a simple checkout."""
    currency = order.currency
    lines = [
        line(item["name"], display_money(Decimal(item["amount"]), currency)) for item in order.items or []
    ]
    if not lines:
        lines = [line(label or order.description, display_money(order.original_amount, currency))]
    if order.tax_amount:
        word = "Sales tax" if order.tax_type == "sales_tax" else "VAT"
        included = " included" if order.amount == order.original_amount else ""
        lines.append(
            line(f"{word} {order.tax_rate * 100:.0f}%{included}", display_money(order.tax_amount, currency))
        )
    lines.append(line("Total", display_money(order.amount, currency), "sum"))
    if order.charge_currency not in {"", currency}:
        lines.append(line("Charged to you", display_money(order.charge_amount, order.charge_currency)))
    return joined(lines)
