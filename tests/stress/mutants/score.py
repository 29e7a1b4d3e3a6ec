"""The score of each part: how many of its mutants the tests kill, those left out that change nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")
LEAST: Final = 90.0
DEAD: Final = frozenset({"killed", "timeout"})
PARTS: Final[Mapping[str, Sequence[str]]] = {
    "signature": ["checkout_integration.protocol.signature.*"],
    "facts": [f"checkout_integration.policy.{name}.*" for name in ("facts", "events", "status")],
    "money": [
        "checkout_integration.policy.verdict.*",
        *(
            f"checkout_integration.protocol.values.x_{function}__mutmut*"
            for function in (
                "parse_money",
                "minor_units",
                "same_money",
                "fits_places",
                "has_places",
                "_rounded",
            )
        ),
    ],
    "paging": ["checkout_integration.client.paging.*"],
}
"""The mutants of each part, as mutmut names them: module, "x_" and function, number."""


@dataclass(frozen=True)
class Change:
    """What a mutant changes: lines as they were, and as they became."""

    was: str
    becomes: str

    def __str__(self) -> str:
        """Show it as a difference."""
        return f"    - {self.was}\n    + {self.becomes}"


@dataclass(frozen=True, kw_only=True)
class Score:
    """How the mutants of one part fared."""

    part: str
    mutants: int
    equivalent: int
    survivors: Mapping[str, Change]

    @property
    def killed(self) -> int:
        """How many turned a test red, or never ended."""
        return self.mutants - self.equivalent - len(self.survivors)

    @property
    def percent(self) -> float:
        """Killed of those that could be killed; none at all is no score."""
        possible = self.mutants - self.equivalent
        return 100 * self.killed / possible if possible else 0.0


def run(parts: Sequence[str], *, workers: int) -> int:
    """Test the mutants of these parts, print the scores and return the exit code."""
    # A result of yesterday says nothing of today's tests.
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    patterns = [pattern for part in parts for pattern in PARTS[part]]
    if subprocess.run(
        [*_mutmut("run"), "--max-children", str(workers), *patterns], check=False, cwd=ROOT
    ).returncode:
        print("FAILED: mutmut did not get through.")
        return 1
    return judge(parts)


def judge(parts: Sequence[str]) -> int:
    """Print the scores of the mutants that were tested and return the exit code."""
    statuses = parse_results(_said("results", "--all", "true"))
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    scores = []
    good = True
    for part in parts:
        excused = {Change(entry["was"], entry["becomes"]) for entry in listed.get(part, [])}
        mutants = {name: status for name, status in statuses.items() if matches(name, PARTS[part])}
        left = {
            name: parse_change(_said("show", name)) for name, status in mutants.items() if status not in DEAD
        }
        score = score_of(part, len(mutants), left, excused)
        scores.append(score)
        good = good and score.percent >= LEAST
        for name, change in score.survivors.items():
            print(f"survived {name}\n{change}")
        for stale in sorted(excused - set(left.values()), key=str):
            good = False
            print(f"no survivor of {part} is like this entry of {EQUIVALENT.name}:\n{stale}")
    print(table(scores))
    print(f"Each part has {LEAST:.0f} %." if good else "FAILED.", flush=True)
    return 0 if good else 1


def score_of(part: str, mutants: int, left: Mapping[str, Change], excused: Iterable[Change]) -> Score:
    """Return the score of a part, given its surviving mutants and its equivalent changes."""
    known = frozenset(excused)
    survivors = {name: change for name, change in left.items() if change not in known}
    return Score(part=part, mutants=mutants, equivalent=len(left) - len(survivors), survivors=survivors)


def parse_results(text: str) -> dict[str, str]:
    """Return the status of each mutant from the lines `name: status` that `mutmut results` prints."""
    pairs = (line.strip().rpartition(": ") for line in text.splitlines())
    return {name: status for name, _, status in pairs if "__mutmut_" in name}


def parse_change(diff: str) -> Change:
    """Return the change from the unified diff that `mutmut show` prints."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    was, becomes = (
        "\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in ("-", "+")
    )
    return Change(was, becomes)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a mutant belongs to a part."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def table(scores: Iterable[Score]) -> str:
    """Return the scores as a table."""
    head = f"{'part':10}{'mutants':>9}{'killed':>9}{'survived':>10}{'equivalent':>12}{'score':>9}"
    rows = (
        f"{each.part:10}{each.mutants:9}{each.killed:9}{len(each.survivors):10}{each.equivalent:12}{each.percent:8.1f} %"
        for each in scores
    )
    return "\n".join([head, *rows])


def _mutmut(command: str) -> list[str]:
    return [sys.executable, "-m", "mutmut", command]


def _said(command: str, *arguments: str) -> str:
    done = subprocess.run(
        [*_mutmut(command), *arguments], check=True, cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout
