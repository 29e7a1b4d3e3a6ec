"""Values as HTML: escaped, exact, and safe to look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from checkout_integration.admin.site.labels import StateLabel, Text
from checkout_integration.display import shown_amount, shown_day, shown_number
from checkout_integration.protocol import strict_json
from checkout_integration.protocol.address import is_secure

Value: TypeAlias = "Text | SafeString"
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


def moment(at: datetime | None, clock: str = "H:i:s") -> str | SafeString:
    """Return a time in the zone of the page, to the second, or as the format of its clock says."""
    if at is None:
        return NOTHING
    local = localtime(at) if is_aware(at) else at
    return format_html(
        '<time datetime="{}"><span>{}</span> <span>{}</span></time>',
        local.isoformat(timespec="seconds"),
        shown_day(local),
        date_format(local, clock),
    )


def moment_text(at: datetime) -> str:
    """Return a time in the zone of the page as text, to the minute."""
    local = localtime(at) if is_aware(at) else at
    return f"{shown_day(local)} {date_format(local, 'H:i')}"


def badge(label: StateLabel) -> SafeString:
    """Return a state as a mark, a word and a colour. The word alone is enough."""
    return format_html(
        '<span class="ci-badge ci-{}"><span aria-hidden="true">{}</span> {}</span>',
        label.tone,
        label.mark,
        label.text,
    )


def remarked(value: Value, remark: Value) -> Value:
    """Return a value with a remark in small type; alone without one."""
    return format_html('{} <span class="ci-reason">{}</span>', value, remark) if remark else value


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


def copyable(text: str, label: Text) -> str | SafeString:
    """Return a text in a read-only field; where scripts run, with a button that copies it. "" for no text."""
    if not text:
        return ""
    return format_html(
        '<span class="ci-copy"><input type="text" readonly value="{}" size="{}" aria-label="{}"> '
        '<button type="button" class="button" aria-label="{}: {}" data-ci-copy="{}" hidden>{}</button> '
        '<span role="status"></span></span>',
        visible(text, longest=len(text)),
        len(text),
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


LONGEST_WORD: Final = 20
"""Characters of a word that stay on one line."""
LONGEST_ADDRESS: Final = 40
"""Characters of an e-mail address that a list shows at least."""
LONGEST_IN_LIST: Final = 80
_SIGNS: Final = "._/@:&=?"
# A line may end at a hyphen anyway.
_LONG_WORD: Final = re.compile(rf"([^\s-]{{{LONGEST_WORD + 1},}})")
# So short that a column has room for it whatever font the browser has.
_PIECE: Final = re.compile(rf"[^{_SIGNS}]{{1,12}}[{_SIGNS}]*|[{_SIGNS}]+")


def breakable(text: Value) -> Value:
    """Return a text whose long words may end a line after a sign, such as the dots of a receiver's name. HTML stays."""
    parts = [] if isinstance(text, SafeString) else _LONG_WORD.split(str(text))
    if len(parts) < 2:
        return text
    parts[1::2] = [_broken(word) for word in parts[1::2]]
    return format_html_join("", "{}", ((part,) for part in parts))


def in_list(value: object) -> Value:
    """Return a text for a cell of a list: long ids show their beginning and end, and in whole under a resting mouse."""
    whole = visible(value)
    cut = whole if len(whole) <= LONGEST_IN_LIST else whole[:LONGEST_IN_LIST] + "…"
    words = [_shortened(word) for word in re.split(r"(\s+)", cut)]
    shown = "".join(words)
    if shown == whole:
        return breakable(shown) or NOTHING
    css_class = "ci-id" if len(words) == 1 and len(shown) <= LONGEST_WORD else ""
    return format_html('<span class="{}" title="{}">{}</span>', css_class, whole, breakable(shown))


def _broken(word: str) -> SafeString:
    return format_html_join(SafeString("<wbr>"), "{}", ((piece,) for piece in _PIECE.findall(word)))


def _shortened(word: str) -> str:
    """Return the beginning and the end of a long word; names of code are made of parts that say something each.

    Of an e-mail address the name stays whole: it tells customers apart, their domain seldom does.
    """
    name, sign, domain = word.rpartition("@")
    if name and sign:
        room = max(LONGEST_ADDRESS - len(name) - 1, 1)
        return word if len(domain) <= room else f"{name}@{domain[:room]}…"
    is_name = "." in word and all(part.isidentifier() for part in word.rstrip("…").split("."))
    return word if len(word) <= LONGEST_WORD or is_name else f"{word[:8]}…{word[-4:]}"


@dataclass(frozen=True)
class Table:
    """A short table on a page. Without rows its text for "empty" is shown; without that, nothing.

    Each cell has the label of its column: in a narrow window the cells of a row stand below each other.
    """

    title: Text
    labelled: Sequence[Sequence[tuple[Text, Value]]]
    empty: Text = ""

    @property
    def rows(self) -> list[list[Value]]:
        """The cells alone."""
        return [[cell for _label, cell in row] for row in self.labelled]

    @property
    def labelled_rows(self) -> list[list[tuple[Text, Value]]]:
        """The rows, whose long words may end a line."""
        return [[(label, breakable(cell)) for label, cell in row] for row in self.labelled]


@dataclass(frozen=True)
class FieldGroup:
    """Labelled values under a title. A group without values is not shown.

    ``specified``: the labels are names of the specification, which are not translated.
    """

    title: Text
    fields: Sequence[tuple[Text, Value]]
    specified: bool = False


class Answer(NamedTuple):
    """What a page answers to a question: a value in large type, and a few lines in small type."""

    value: Value
    details: Sequence[Value] = ()


def field_group(title: Text, fields: Iterable[tuple[Text, Value]]) -> FieldGroup:
    """Return a group of the fields that have a value."""
    return FieldGroup(title, [(label, value) for label, value in fields if value not in {"", NOTHING}])
