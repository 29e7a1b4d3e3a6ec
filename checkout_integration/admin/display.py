"""Values as HTML: escaped, exact, and safe to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.utils.dateformat import format as format_date
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from checkout_integration.admin.words import Word
from checkout_integration.display import amount_text
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.address import is_secure

NOTHING = "–"
LONGEST = 2_000
LONGEST_JSON = 50_000
# Control characters (but not tab and new line), and those that reorder or hide text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(value: object, longest: int = LONGEST) -> str:
    """Text with its invisible characters written as escapes, cut when it is very long. Still to be escaped."""
    text = str(value)
    cut = text if len(text) <= longest else text[:longest] + "…"
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", cut)


def short(value: object) -> str:
    """Text for a cell of a list."""
    return visible(value, longest=80) or NOTHING


def money(amount: Decimal | None, currency: str | None) -> str:
    """An amount with the places that its currency has, more where it has more; "–" when unknown."""
    if amount is None:
        return NOTHING
    digits = amount_text(amount, currency or "")
    return f"{digits}\N{NO-BREAK SPACE}{visible(currency)}" if currency else digits


def moment(at: datetime | None) -> str | SafeString:
    """A time in the zone of the page, to the second."""
    if at is None:
        return NOTHING
    local = localtime(at) if is_aware(at) else at
    day, clock = format_date(local, "Y-m-d"), format_date(local, "H:i:s")
    return format_html(
        '<time datetime="{}"><span>{}</span> <span>{}</span></time>', local.isoformat(), day, clock
    )


def badge(word: Word) -> SafeString:
    """A state as a mark, a word and a colour; the word says it all."""
    return format_html(
        '<span class="ci-badge ci-{}"><span aria-hidden="true">{}</span> {}</span>',
        word.tone,
        word.mark,
        word.text,
    )


def hidden() -> SafeString:
    """What stands for personal data where the viewer may not see it."""
    return format_html('<span class="ci-hidden">{}</span>', _("hidden"))


def link(address: str | None, *, loopback: bool = False) -> str | SafeString:
    """A link when the address is https (or http on this machine, where ``loopback`` allows it), else its text."""
    if not address:
        return NOTHING
    if not address.isascii() or not is_secure(
        address, loopback=loopback
    ):  # what looks like another letter is no link
        return visible(address)
    return format_html(
        '<a href="{}" rel="noopener noreferrer">{}</a>', address, visible(address, longest=100)
    )


def lines(parts: Sequence[str]) -> SafeString:
    """Several values, each on its own line."""
    return format_html_join(SafeString("<br>"), "{}", ((part,) for part in parts))


def pretty(value: object) -> str:
    """JSON with indents and the exact digits of its numbers. Still to be escaped."""
    return visible("\n".join(_json_lines(value)), longest=LONGEST_JSON)


def pretty_body(body: bytes | memoryview | None) -> str:
    """The bytes of a notification: as indented JSON, or as they are when they are not JSON that we read."""
    if not body:
        return ""
    try:
        return pretty(strict_json.loads(bytes(body)))
    except strict_json.StrictJsonError:
        return visible(bytes(body).decode("utf-8", "backslashreplace"), longest=LONGEST_JSON)


def _json_lines(value: object, indent: str = "", name: str = "", end: str = "") -> Iterator[str]:
    brackets = "{}" if isinstance(value, Mapping) else "[]"
    if not isinstance(value, (Mapping, list, tuple)) or not value:
        yield f"{indent}{name}{strict_json.dumps(value)}{end}"
        return
    yield f"{indent}{name}{brackets[0]}"
    named = isinstance(value, Mapping)
    parts = list(value.items()) if isinstance(value, Mapping) else [("", each) for each in value]
    for place, (key, each) in enumerate(parts, start=1):
        comma = "," if place < len(parts) else ""
        yield from _json_lines(each, indent + "  ", f"{strict_json.dumps(key)}: " if named else "", comma)
    yield f"{indent}{brackets[1]}{end}"
