"""Build the site of the documentation: `python3 -m docs`.

It makes its own environment, and takes a warning for an error. The site needs no server: search works from the files too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from example_project.environment import EnvironmentFailed, Recipe, enter

ROOT: Final = Path(__file__).resolve().parents[1]
SITE: Final = ROOT / "build" / "site"


def main() -> int:
    """Enter the environment of the documentation, then build."""
    try:
        enter("docs", Recipe(groups=("docs",)), ["-m", "docs", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    strict = ("--fail-on-warning", "--keep-going", "--quiet", "--fresh-env")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--builder",
        "html",
        *strict,
        "--conf-dir",
        "docs",
        ".",
        str(SITE),
    ]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603  # our own words
    if not code:
        print(f"The site: {SITE / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
