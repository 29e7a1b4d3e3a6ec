"""The shop's ``manage.py``: ``python -m example_project.manage``, or by its path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line


def main() -> None:
    """Run a command of Django with the shop's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    if not __package__:
        # Run by its path: Python looks for modules beside this file then, where celery.py would stand in Celery's way.
        sys.path[0] = str(Path(__file__).resolve().parent.parent)
    main()
