"""The page about personal data: its example runs, and its lists are those of the export."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.auth.models import User

from checkout_integration.models import StaffAct
from checkout_integration.testing.factories import CheckoutFactory, OrderFactory
from tests.reference.test_examples import executed
from tests.support.documents import ROOT, block


@pytest.mark.django_db
def test_the_example_exports_what_an_account_bought() -> None:
    """The lists of its document are those that the page names."""
    ada = User.objects.create_user("ada", pk=4711)
    OrderFactory(checkout=CheckoutFactory(user=ada))
    page = executed("my_data", block("docs/personal-data.md", "# shop/my_data.py"))
    document = json.loads("".join(page.my_data(ada)))
    (project,) = document["projects"]
    table = (ROOT / "docs" / "personal-data.md").read_text(encoding="utf-8").partition("| list |")[2]
    lists = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    assert [*project] == ["project", *lists]
    assert len(project["orders"]) == 1
    assert StaffAct.objects.get().staff == ada
