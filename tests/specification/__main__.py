"""``python3 -m tests.specification``: write docs/spec-map.md, and print how many claims it makes and what is unproven."""

from __future__ import annotations

from tests.specification.mapping import SIDES, citations, claims, one_sided, sides_of, statements
from tests.specification.page import PAGE, count, page

made, reasons = claims(), one_sided()
PAGE.write_text(page(made, citations(), reasons), encoding="utf-8")
print(f"{PAGE.name}: {len(statements())} statements, {count(made)} claims.")
for side in SIDES:
    proven = {claim.statement for path, ones in made.items() if side in sides_of(path) for claim in ones}
    missing = [one.id for one in statements() if one.id not in proven and (one.id, side) not in reasons]
    print(
        f"{side}: {len(proven)} proven, {sum(key[1] == side for key in reasons)} cannot be shown, "
        f"{len(missing)} not yet.",
        *missing,
    )
