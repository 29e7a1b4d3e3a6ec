"""Check what was built: what wheel and sdist hold, and that the wheel works where neither Celery nor Redis is installed.

Usage: python .ci/check_wheel.py dist
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from subprocess import call

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from example_project.environment import make  # noqa: E402

PACKAGE = "checkout_integration/"
# Beside modules: what a template loader, a type checker or the sandbox reads.
DATA = {".html", ".txt", ".css", ".js", ".svg", ".typed", ".yaml", ".yml", ".json", ".mo"}
NEEDED = {
    "py.typed",
    "apps.py",
    "locale/de/LC_MESSAGES/django.mo",
    "locale/es/LC_MESSAGES/django.mo",
    "migrations/0001_initial.py",
    "sandbox/__main__.py",
    "sandbox/openapi.yaml",
    "sandbox/pages/assets/style.css",
    "sandbox/pages/templates/layout.html",
    "sandbox/scenarios/known_user.yaml",
}
IN_SDIST = {
    "tests/settings.py",
    "docs/README.md",
    "example_project/__main__.py",
    "tox.ini",
    "CHANGELOG.md",
    "LICENSE",
}
IN_SDIST |= {"checkout_integration/locale/de/LC_MESSAGES/django.po"}
"""What distributors and translators find in the source distribution."""
SMOKE = """
import importlib.util, sys
import django
from django.conf import settings
present = [name for name in ("celery", "redis", "kombu", "werkzeug", "pytest") if importlib.util.find_spec(name)]
assert not present, f"{present} installed here: this would prove nothing"
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "checkout_integration"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import checkout_integration.client, checkout_integration.flows, checkout_integration.signals, checkout_integration.urls
print("imports and migrates without Celery and Redis on Django", django.__version__)
"""


def main() -> None:
    """Judge the wheel in the folder that the command line names, and the sdist if there is one."""
    folder = Path(sys.argv[1])
    (wheel,) = folder.resolve().glob("*.whl")
    for sdist in folder.glob("*.tar.gz"):
        _judge_sdist(sdist)
    names = zipfile.ZipFile(wheel).namelist()
    strangers = [name for name in names if not _belongs(name)]
    missing = [name for name in NEEDED if PACKAGE + name not in names]
    if strangers or missing:
        sys.exit(f"wheel: does not belong: {strangers}; missing: {missing}")
    print(f"{wheel.name}: {len(names)} files, each of them belongs")
    with tempfile.TemporaryDirectory(prefix="checkout-wheel-") as place:
        python = make(Path(place) / "environment", [str(wheel)])
        sys.exit(call([str(python), "-c", SMOKE], cwd=place))


def _judge_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := sorted(IN_SDIST - names):
        sys.exit(f"sdist: missing: {missing}")
    if strangers := sorted(
        name for name in names if "__pycache__" in name or name.endswith((".pyc", ".sqlite3"))
    ):
        sys.exit(f"sdist: does not belong: {strangers}")
    print(f"{sdist.name}: {len(names)} files, with tests, pages and sources of translations")


def _belongs(name: str) -> bool:
    if ".dist-info/" in name:
        return True
    inside = name.startswith(PACKAGE) and "/test_" not in name and "__pycache__" not in name
    return inside and Path(name).suffix in {".py", *DATA}


if __name__ == "__main__":
    main()
