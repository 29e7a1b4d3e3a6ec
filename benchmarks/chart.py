"""The medians of a run as a picture: two groups of bars, requests per second and processor time of a payment."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks import goals
from benchmarks.ratios import Round, median_of
from benchmarks.report import Where

WIDTH, LABELS, VALUES = 860, 300, 90
BAR, STEP, TITLE = 16, 26, 44
OURS, OTHERS, OF_DATABASE, INK = "#1f6f8b", "#9a9a9a", "#e0a458", "#222222"
RATES = (goals.BARE, goals.FORGED, goals.INSERT, goals.ACCEPT, goals.DEFAULT, goals.PEER)
COSTS = (
    *(goals.INSERT_CPU, goals.APPLY_100, goals.RUN_MANY, goals.APPLY_1, goals.RUN_1),
    *(goals.CHAIN, goals.DEFAULT, goals.PEER),
)
NOT_OURS = {goals.BARE, goals.INSERT, goals.PEER, goals.INSERT_CPU, goals.PEER_CPU}

Bars = list[tuple[str, list[tuple[float, str]]]]
"""A name and its pieces, from left to right: how long, and in which colour."""


def draw(where: Where, rounds: Sequence[Round]) -> str:
    """Return an SVG of what was measured; what was not has no bar."""
    rates, costs = _rates(rounds), _costs(rounds)
    below = TITLE + len(rates) * STEP + 20
    height = below + TITLE + len(costs) * STEP + 60
    parts = [
        *_group("Handled each second (longer is better)", rates, TITLE, "{:,.0f}"),
        *_group("Processor time of one, in ms (shorter is better)", costs, below + TITLE, "{:.2f}"),
        *_legend(height - 30),
        _text(10, height - 8, str(where), size=11),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
            "<title>Requests per second and processor time, beside dj-stripe and one INSERT</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _rates(rounds: Sequence[Round]) -> Bars:
    medians = {name: median_of(rounds, name, "rate") for name in RATES}
    return [(name, [(rate, _colour(name))]) for name, rate in medians.items() if rate is not None]


def _costs(rounds: Sequence[Round]) -> Bars:
    bars: Bars = []
    for name in COSTS:
        python, database = (median_of(rounds, name, figure) for figure in ("python", "database"))
        if python is not None:
            bars.append((name, [(python / 1000, _colour(name)), ((database or 0.0) / 1000, OF_DATABASE)]))
    return bars


def _group(title: str, bars: Bars, top: int, form: str) -> list[str]:
    parts = [_text(10, top - 16, title, size=15)]
    longest = max((sum(length for length, _ in pieces) for _, pieces in bars), default=1.0) or 1.0
    for number, (name, pieces) in enumerate(bars):
        y, x = top + number * STEP, float(LABELS)
        parts.append(_text(LABELS - 10, y + 13, name, anchor="end"))
        for length, colour in pieces:
            width = length / longest * (WIDTH - LABELS - VALUES)
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
            x += width
        parts.append(_text(x + 6, y + 13, form.format(sum(length for length, _ in pieces))))
    return parts


def _legend(y: int) -> list[str]:
    parts, x = [], 10
    for colour, label in ((OURS, "this app"), (OTHERS, "beside it"), (OF_DATABASE, "the database's share")):
        parts += [
            f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>',
            _text(x + 18, y, label),
        ]
        x += 180
    return parts


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{INK}" text-anchor="{anchor}">{escape(text)}</text>'


def _colour(name: str) -> str:
    return OTHERS if name in NOT_OURS else OURS
