"""``python3 -m tests.reference``: write the parts of docs/reference that come from the code."""

from __future__ import annotations

import os

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

    from tests.reference.pages import pages, written

    for page in pages():
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"docs/reference: {len(pages())} pages.")
