"""The admin under a theme: nothing of ours needs one, and one may be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.admin.visits import pages_of, screens


@pytest.mark.slow
def test_every_screen_opens_under_django_unfold() -> None:
    """Empty lists, lists, pages of rows and confirmations, with the theme's styles and ours; nothing fails."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.admin.themed"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.support.admin.themed_settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert {name for name, answer in seen.items() if answer != [200, True, True]} == set()
    pages = {f"{screen} {page}" for screen in screens() for page, is_of_row in pages_of(screen) if is_of_row}
    assert pages < set(seen)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
