"""The table of seeded defects, read from `defects.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLE = Path(__file__).parent / "defects.toml"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One line made wrong, and the test that must notice.

    Attributes:
        name: what a shop would suffer.
        file: path of the file, from the root of the repository.
        old: its text now; it occurs once.
        new: the text that takes its place.
        test: pytest's name of the test that must go red.
        database: what the test runs on: sqlite, postgres or mariadb.

    """

    name: str
    file: str
    old: str
    new: str
    test: str
    database: str = "sqlite"

    def seed(self, root: Path) -> None:
        """Put the defect into the tree at `root`; raises ValueError when its old text is not there exactly once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.file} has the text of {self.name!r} {text.count(self.old)} times, not once"
            )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


def defects() -> list[Defect]:
    """Return the table."""
    return [Defect(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["defect"]]
