"""``python3 -m tests.specification``: writes docs/spec-map.md and says what is unproven."""

from __future__ import annotations

from tests.specification.mapping import PAGE, page, proofs, statements

PAGE.write_text(page(), encoding="utf-8")
proven = proofs()
missing = [statement.id for statement in statements() if statement.id not in proven]
print(f"{PAGE.name}: {len(statements()) - len(missing)} of {len(statements())} proven.", *missing)
