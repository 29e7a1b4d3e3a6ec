"""What the trial says while it runs, and in the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Result:
    """Actions, figures, and every difference from the truth."""

    figures: Mapping[str, object]
    problems: Sequence[str]

    def show(self, *, as_json: bool) -> None:
        """Print it, for a person or for a machine."""
        if as_json:
            print(json.dumps({"ok": not self.problems, "problems": self.problems, **self.figures}))
            return
        for name, value in self.figures.items():
            print(f"{name:<44}{_plain(value)}")
        for problem in self.problems:
            print(f"DIFFERENCE  {problem}")
        print("FAILED." if self.problems else "Nothing was lost, done twice or left undone.", flush=True)


def say(text: str) -> None:
    """Print a line of progress, beside the result."""
    print(text, file=sys.stderr, flush=True)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "none"
    return str(value)
