"""``python3 -m tests.languages [language …]``: add the texts of the code to the catalogues, compile them, name gaps.

A language that is named and has no catalogue gets one.
"""

from __future__ import annotations

import os
import sys

from example_project.environment import EnvironmentFailed, enter
from tests.__main__ import recipe


def main(named: list[str]) -> int:
    """Update the catalogues; return 1 where a translation is missing."""
    try:
        enter("tests", recipe(os.environ), ["-m", "tests.languages", *named])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has Babel and Django.
    from django.conf import settings

    settings.configure()
    from tests.languages.catalogues import HOMES, Place, places

    new = [Place(home, language) for home in HOMES for language in named]
    found = {
        place: place.update() for place in [*places(), *(place for place in new if place not in places())]
    }
    for place, texts in found.items():
        print(f"{place}: {len(texts)} texts without a translation")
        for text in texts:
            print(f"  {text!r}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
