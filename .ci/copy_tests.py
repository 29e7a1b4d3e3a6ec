"""Copy what the tests need to another directory, so that they meet the installed wheel and not the working copy.

Usage: python .ci/copy_tests.py REPOSITORY TARGET
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

PARTS = ("tests", "example_project", "benchmarks", "docs")
FILES = ("pyproject.toml", "README.md", "SECURITY.md")


def main() -> None:
    """Replace TARGET's copies of the tests, the example project, the benchmarks, the pages and pytest's configuration."""
    repository, target = Path(sys.argv[1]), Path(sys.argv[2])
    for part in PARTS:
        shutil.rmtree(target / part, ignore_errors=True)
        shutil.copytree(repository / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(repository / name, target)


if __name__ == "__main__":
    main()
