"""The page docs/validation.md: its examples run, and its numbers are those of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from checkout_integration.flows.webhook.validators import MOST_AT_ONCE
from checkout_integration.models import ValidationDecision
from checkout_integration.protocol.user import parse_user
from tests.support.documents import block

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("validation.md", "records.md"))


@pytest.mark.parametrize(
    ("document", "answers"),
    [
        ({"external_id": "7", "metadata": {"adult": "yes"}}, [True, True]),
        ({"external_id": "7"}, [True, "TOO_YOUNG"]),
        ({"external_id": "8"}, ["BANNED", "TOO_YOUNG"]),
        ({"external_id": "eve"}, [False, "TOO_YOUNG"]),
    ],
)
@pytest.mark.django_db
def test_examples_answer_as_the_page_says(document: dict[str, Any], answers: list[object]) -> None:
    """The blocks follow each other; the second class builds on the first."""
    names: dict[str, Any] = {}
    User.objects.create_user("ada", pk=7)
    User.objects.create_user("bob", pk=8, is_active=False)
    exec(block("docs/validation.md", "# shop/hooks.py"), names)
    exec(block("docs/validation.md", "# shop/hooks.py, several validators"), names)
    given = [validator(parse_user(document)) for validator in names["StrictHooks"]().validators()]
    assert [getattr(each, "code", each) for each in given] == answers


def test_numbers_and_columns_are_those_of_the_code() -> None:
    """A change of one requires a change of the page."""
    assert f"At most {MOST_AT_ONCE} validators run at once" in PAGE
    columns = {field.name for field in ValidationDecision._meta.get_fields()}
    assert {
        name for name in columns - {"id", "project", "decided_at", "request_hash"} if f"`{name}`" not in PAGE
    } == set()
    assert all(f"`{value}`" in PAGE for value in ValidationDecision.DecidedBy.values)
