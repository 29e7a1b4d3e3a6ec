"""The table of who may do what, and the people in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.contrib.auth.models import User

from tests.support.admin import rows

TABLE: Final = Path(__file__).with_name("rights.txt")
FIRST_LEVEL: Final = (
    *("view_order", "view_checkout", "view_checkoutuser", "view_personal_data"),
    *("check_order", "add_note"),
)
"""The permissions of first-level support, as docs/support-desk.md has them."""
MASKED: Final = tuple(name for name in FIRST_LEVEL if name != "view_personal_data")
PEOPLE: Final[Mapping[str, Callable[[], User | None]]] = {
    "owner": lambda: User.objects.create_superuser("owner"),
    "support": lambda: rows.make_staff(*FIRST_LEVEL, name="support"),
    "masked": lambda: rows.make_staff(*MASKED, name="masked"),
    "staff": lambda: rows.make_staff(name="staff"),
    "stranger": lambda: User.objects.create_user("stranger"),
    "anonymous": lambda: None,
}
"""Who asks: a superuser; support that sees personal data, and that does not; staff without our permissions; a customer."""


@dataclass(frozen=True, kw_only=True)
class Right:
    """A line of the table.

    Attributes:
        method: GET or POST.
        name: the name of the address, without the app's prefix.
        case: which of several requests of the address.
        permissions: what staff need, all of them; None where no permission is enough.
        cells: what each of the people gets.

    """

    method: str
    name: str
    case: str
    permissions: Sequence[str] | None
    cells: Mapping[str, str]

    @property
    def is_action(self) -> bool:
        """Whether it is an action of a list, whose name is its case."""
        return self.name.endswith("_changelist") and self.method == "POST"

    def __str__(self) -> str:
        return f"{self.method} {self.name} {self.case}".strip()


def _read(line: str) -> Right:
    request, permissions, cells = (part.split() for part in line.split("|"))
    method, name, *case = request
    return Right(
        method=method,
        name=name,
        case=" ".join(case),
        permissions=None if permissions == ["nobody"] else [each for each in permissions if each != "-"],
        cells=dict(zip(PEOPLE, cells, strict=True)),
    )


RIGHTS: Final = [
    _read(line)
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
