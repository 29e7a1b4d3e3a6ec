"""Open every screen under a theme of the admin, in a process of its own: a theme replaces the site of the whole process.

Prints a JSON object: for each page its status, and whether it is the theme's and ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import django
from django.core.management import call_command
from django.test.utils import setup_test_environment


def main() -> None:
    """Make the tables and the rows, then open the pages."""
    django.setup()
    setup_test_environment()
    call_command("migrate", verbosity=0)

    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.create_superuser("sam"))
    opened = {name: client.get(address) for name, address in _addresses()}
    seen = {}
    for name, answer in opened.items():
        text = answer.content.decode()
        seen[name] = [
            answer.status_code,
            "unfold/css/styles.css" in text,
            "checkout_integration/admin.css" in text,
        ]
    print(json.dumps(seen))


def _addresses() -> Iterator[tuple[str, str]]:
    from tests.support.admin.offered import OFFERED
    from tests.support.admin.screens import make_row
    from tests.support.admin.visits import APP, address_of, pages_of, screens

    yield "index", APP
    yield from ((f"{screen} empty", address_of(screen, "changelist")) for screen in screens())
    for screen in screens():
        for page, is_of_row in pages_of(screen):
            if is_of_row:
                offered = OFFERED.get((screen, page))
                row = offered()[0] if offered else make_row(screen)
                yield f"{screen} {page}", address_of(screen, page, row.pk)
        yield f"{screen} list", address_of(screen, "changelist")


if __name__ == "__main__":
    main()
