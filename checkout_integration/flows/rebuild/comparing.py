"""What differs between an order's row and what its evidence adds up to, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from checkout_integration.conf import Project
from checkout_integration.flows.ledger import columns_of, item_rows, personal_row
from checkout_integration.flows.rebuild.evidence import Evidence, Gap
from checkout_integration.flows.rebuild.verdicts import checkout_of, verdict_on
from checkout_integration.models import OrderItem
from checkout_integration.policy.state import stamps_from_json
from checkout_integration.protocol import strict_json

NOT_SHOWN: Final = "(not shown)"
"""In the place of a value that may be personal, or a key that is sold."""
JSON_COLUMNS: Final = ("document", "facts", "stamps", "conflicts")
ITEM_COLUMNS: Final = ("item_id", "sku", "name", "code", "platform")


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A column of an order, or a part of one, that is not what its evidence adds up to.

    Attributes:
        field: the column; a part of a JSON column after a dot, as in ``document.amount``.
        stored: the value in the row as text, "" for none; "(not shown)" where it may be personal.
        recomputed: what it should be, in the same way.

    """

    field: str
    stored: str
    recomputed: str


def differences_of(project: Project, evidence: Evidence) -> tuple[FieldDifference, ...]:
    """Return what differs. It notes a gap where a setting gave the verdict."""
    own = columns_of(evidence.state)
    return (
        *_of_columns(evidence, own.own),
        *_of_decisions(project, evidence),
        *_of_json(evidence, own.own),
        *_of_personal_data(evidence, own.personal),
        *_of_items(evidence),
        *_of_history(evidence),
    )


def _of_columns(evidence: Evidence, own: Mapping[str, Any]) -> Iterator[FieldDifference]:
    """Compare the columns that are copied from the state."""
    for name, recomputed in own.items():
        if name not in JSON_COLUMNS and (stored := getattr(evidence.row, name)) != recomputed:
            yield FieldDifference(field=name, stored=_text(stored), recomputed=_text(recomputed))


def _of_decisions(project: Project, evidence: Evidence) -> Iterator[FieldDifference]:
    row, checkout = evidence.row, checkout_of(project, evidence)
    verdict = verdict_on(project, evidence, checkout)
    pairs = {
        "checkout": (row.checkout.reference if row.checkout else "", checkout.reference if checkout else ""),
        "verdict": (row.verdict, verdict.status.value),
        "verdict_reason": (row.verdict_reason, str(verdict.reason)),
    }
    if Gap.ERASED not in evidence.gaps:  # an erased customer is known by a tombstone only
        pairs["user"] = (_text(row.user_id), _text(evidence.customer))
    for name, (stored, recomputed) in pairs.items():
        if stored != recomputed:
            yield FieldDifference(field=name, stored=_text(stored), recomputed=_text(recomputed))


def _of_json(evidence: Evidence, own: Mapping[str, Any]) -> Iterator[FieldDifference]:
    """Compare the columns with JSON, part by part."""
    row, merged = evidence.row, evidence.state.merged
    yield from _parts("document", row.document, own["document"], hidden=True)
    for group in sorted({*row.facts, *own["facts"]}):
        yield from _parts(f"facts.{group}", row.facts.get(group, {}), own["facts"].get(group, {}))
    stored = stamps_from_json(row.stamps, merged.values)
    yield from _parts("stamps", _stamps(stored), _stamps(merged.stamps))
    yield from _parts("conflicts", _flags(row.conflicts), _flags(own["conflicts"]))


def _of_personal_data(evidence: Evidence, private: Mapping[str, Any]) -> Iterator[FieldDifference]:
    stored = getattr(evidence.row, "personal_data", None)
    if stored is None:
        yield FieldDifference(field="personal_data", stored="", recomputed=NOT_SHOWN)
        return
    recomputed = personal_row(evidence.row, evidence.state, private)
    yield from _parts("personal_data.document", stored.document, recomputed.document, hidden=True)
    columns = {name: getattr(stored, name) for name in ("email", "last4")}
    yield from _parts(
        "personal_data", columns, {name: getattr(recomputed, name) for name in columns}, hidden=True
    )


def _of_items(evidence: Evidence) -> Iterator[FieldDifference]:
    stored = sorted(evidence.row.items.all(), key=lambda item: item.position)
    yield from _parts(
        "items", _columns_of(stored), _columns_of(item_rows(evidence.row, evidence.state)), hidden=True
    )


def _columns_of(items: Sequence[OrderItem]) -> dict[str, object]:
    return {f"{item.position}.{name}": getattr(item, name) for item in items for name in ITEM_COLUMNS}


def _of_history(evidence: Evidence) -> Iterator[FieldDifference]:
    """Compare where the transitions lead: each begins where the one before it ended, and the last one at the status."""
    status = ""
    for transition in evidence.history:
        if transition.from_status == transition.to_status:
            continue  # an act that left the status as it was
        if transition.from_status != status:
            break
        status = transition.to_status
    if status != evidence.state.status:
        yield FieldDifference(field="history", stored=status, recomputed=evidence.state.status.value)


def _parts(
    name: str, stored: Mapping[str, Any], recomputed: Mapping[str, Any], *, hidden: bool = False
) -> Iterator[FieldDifference]:
    """Yield a difference for each part that the two do not share; ``hidden``: without its values."""
    for part in sorted({*stored, *recomputed}):
        values = [side.get(part) for side in (stored, recomputed)]
        if values[0] != values[1] or (part in stored) != (part in recomputed):
            texts = [_shown(side, part, hidden=hidden) for side in (stored, recomputed)]
            yield FieldDifference(field=f"{name}.{part}", stored=texts[0], recomputed=texts[1])


def _shown(values: Mapping[str, Any], part: str, *, hidden: bool) -> str:
    if part not in values:
        return ""
    return NOT_SHOWN if hidden else _text(values[part])


def _stamps(stamps: Mapping[str, Any]) -> dict[str, str]:
    return {name: " ".join(map(str, stamp)) for name, stamp in stamps.items()}


def _flags(names: Iterable[str]) -> dict[str, bool]:
    return dict.fromkeys(names, True)


def _text(value: object) -> str:
    """Return a value as one printable line."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    text = value if isinstance(value, str) else strict_json.dumps(value)
    return text if text.isprintable() else ascii(text)
