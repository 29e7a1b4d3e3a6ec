"""Check that a tag names the version of the package, and that the changelog has a section for it.

Usage: python .ci/check_tag.py v1.0.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Compare the tag that the command line names."""
    text = (ROOT / "checkout_integration" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if sys.argv[1] != f"v{version}":
        sys.exit(f"The tag is {sys.argv[1]!r}, and the version {version!r}: change one of them.")
    if f"\n## {version}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"CHANGELOG.md has no section ## {version}.")


if __name__ == "__main__":
    main()
