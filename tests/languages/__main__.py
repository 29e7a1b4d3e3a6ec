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
    from tests.languages import catalogues

    is_complete = True
    for language in sorted({*catalogues.languages(), *named}):
        catalog = catalogues.updated(language)
        catalogues.write(language, catalog)
        texts = list(catalogues.missing(catalog))
        is_complete = is_complete and not texts
        print(f"{language}: {len(catalog)} texts, {len(texts)} without a translation")
        for text in texts:
            print(f"  {text!r}")
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
