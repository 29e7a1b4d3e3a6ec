"""Values as HTML: escaped, exact, and safe to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from checkout_integration.admin.site.labels import StateLabel
from checkout_integration.display import shown_amount, shown_day, shown_number
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.address import is_secure

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Value: TypeAlias = "StrOrPromise | SafeString"
"""HTML, or text that is still to be escaped."""
NOTHING: Final = "–"
LONGEST: Final = 2_000
LONGEST_JSON: Final = 50_000
INVISIBLE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
"""Control characters (but not tab and new line), and those that reorder or hide text, as in brackets of a pattern."""
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def visible(value: object, longest: int = LONGEST) -> str:
    """Return text with its invisible characters written as escapes, cut when it is very long. Still to be escaped."""
    text = str(value)
    cut = text if len(text) <= longest else text[:longest] + "…"
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", cut)


def short(value: object) -> str:
    """Return text for a cell of a list."""
    return visible(value, longest=80) or NOTHING


def money(amount: Decimal | None, currency: str | None) -> str:
    """Return an amount with the decimal places of its currency, or its own if it has more; "–" when unknown."""
    if amount is None:
        return NOTHING
    digits = shown_amount(amount, currency or "")
    return f"{digits}\N{NO-BREAK SPACE}{visible(currency)}" if currency else digits


def moment(at: datetime | None) -> str | SafeString:
    """Return a time in the zone of the page, to the second."""
    if at is None:
        return NOTHING
    local = localtime(at) if is_aware(at) else at
    return format_html(
        '<time datetime="{}"><span>{}</span> <span>{}</span></time>',
        local.isoformat(timespec="seconds"),
        shown_day(local),
        date_format(local, "H:i:s"),
    )


def badge(label: StateLabel) -> SafeString:
    """Return a state as a mark, a word and a colour, followed by the specification's word. The word alone is enough."""
    plain = format_html(
        '<span class="ci-badge ci-{}"><span aria-hidden="true">{}</span> {}</span>',
        label.tone,
        label.mark,
        label.text,
    )
    return (
        format_html('{} <span class="ci-code" lang="en" translate="no">{}</span>', plain, label.code)
        if label.code
        else plain
    )


def hidden() -> SafeString:
    """Return the placeholder for personal data that the viewer may not see."""
    return format_html('<span class="ci-hidden">{}</span>', _("hidden"))


def link(address: str | None, *, loopback: bool = False) -> str | SafeString:
    """Return a link when the address is https (or http on this machine, where ``loopback`` allows it), else its text."""
    if not address:
        return NOTHING
    # An address with letters that look like others is no link.
    if not address.isascii() or not is_secure(address, loopback=loopback):
        return visible(address)
    return format_html(
        '<a href="{}" rel="noopener noreferrer">{}</a>', address, visible(address, longest=100)
    )


def copyable(text: str, label: StrOrPromise) -> SafeString:
    """Return a text in a read-only field; where scripts run, with a button that copies it."""
    return format_html(
        '<span class="ci-copy"><input type="text" readonly value="{}" aria-label="{}"> '
        '<button type="button" class="button" aria-label="{}: {}" data-ci-copy="{}" hidden>{}</button> '
        '<span role="status"></span></span>',
        visible(text, longest=len(text)),
        label,
        _("Copy"),
        label,
        _("Copied."),
        _("Copy"),
    )


def lines(parts: Sequence[str]) -> SafeString:
    """Return several values, each on its own line."""
    return format_html_join(SafeString("<br>"), "{}", ((part,) for part in parts))


def pretty(value: object) -> str:
    """Return JSON with indents and the exact digits of its numbers. Still to be escaped."""
    return visible("\n".join(_json_lines(value)), longest=LONGEST_JSON)


def pretty_body(body: bytes | memoryview | None) -> str:
    """Return the bytes of a notification: as indented JSON, or as they are when they are not JSON that we read."""
    if not body:
        return ""
    try:
        return pretty(strict_json.loads(bytes(body)))
    except strict_json.StrictJsonError:
        return visible(bytes(body).decode("utf-8", "backslashreplace"), longest=LONGEST_JSON)


def folded(text: str, summary: str = "") -> SafeString:
    """Return a long text folded away behind its summary."""
    return format_html(
        '<details><summary>{}</summary><pre tabindex="0">{}</pre></details>', summary or _("Raw JSON"), text
    )


def folded_traceback(text: str) -> SafeString:
    """Return the first line, which names the shop's own code, with all lines folded away behind it."""
    return folded(visible(text, 20_000), visible(text.partition("\n")[0], longest=300))


def _json_lines(value: object, indent: str = "", name: str = "", end: str = "") -> Iterator[str]:
    brackets = "{}" if isinstance(value, Mapping) else "[]"
    if not isinstance(value, (Mapping, list, tuple)) or not value:
        yield f"{indent}{name}{strict_json.dumps(value)}{end}"
        return
    yield f"{indent}{name}{brackets[0]}"
    has_names = isinstance(value, Mapping)
    parts = list(value.items()) if isinstance(value, Mapping) else [("", part) for part in value]
    for place, (key, part) in enumerate(parts, start=1):
        comma = "," if place < len(parts) else ""
        yield from _json_lines(part, indent + "  ", f"{strict_json.dumps(key)}: " if has_names else "", comma)
    yield f"{indent}{brackets[1]}{end}"


def shown_value(name: str, value: object) -> Value:
    """Return a value of a row or document as the admin shows it, depending on its type."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Decimal):
        return shown_number(value)
    if isinstance(value, Mapping):
        return lines([visible(f"{key}: {part}", longest=300) for key, part in value.items()])
    if name.endswith("url"):
        return link(str(value))
    return visible(value)
