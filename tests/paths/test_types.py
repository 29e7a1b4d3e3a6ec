"""What the quick start, the README and the reference show, under mypy --strict with django-stubs, and under pyright.

Where the lint group is installed. What a shop looks at has a type; a receiver that its signal cannot call is refused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import BlankProject
from tests.support.paths.typed_shop import LOOKS, WRONG

MYPY = """
[mypy]
strict = True
plugins = mypy_django_plugin.main

[mypy.plugins.django-stubs]
django_settings_module = mysite.settings

[mypy-mysite.settings,checkout_integration.*]
follow_imports = silent
"""
PAGES = {
    "shop/readme_buying.py": block("README.md", "# shop/buying.py"),
    "shop/readme_receivers.py": block("README.md", "# shop/receivers.py"),
    "shop/page_of_signals.py": block("docs/reference/signals.md", "# shop/signals.py"),
    "shop/page_of_alerts.py": block("docs/health.md", "# shop/alerts.py"),
    "shop/page_of_hooks.py": block("docs/reference/hooks.md", "# shop/hooks.py"),
    "shop/page_of_models.py": block("docs/reference/models.md", "# shop/reports.py"),
    "shop/page_of_flows.py": block("docs/reference/flows.md", "# shop/selling.py"),
    "shop/page_of_operations.py": block("docs/reference/operations.md", "# shop/support.py"),
    "shop/page_of_errors.py": block("docs/reference/errors.md", "# shop/checkout.py"),
    "shop/page_of_advice.py": block("docs/reference/errors.md", "# shop/advice.py"),
    "shop/page_of_documents.py": block("docs/reference/testing.md", "# shop/test_documents.py"),
    "shop/page_of_words.py": block("docs/reference/words.md", "# shop/mailing.py"),
    "shop/page_of_policies.py": block("docs/reference/template-tags.md", "# shop/pages.py"),
    "shop/page_of_rest.py": block("docs/reference/rest.md", "# shop/test_api.py"),
    "shop/page_of_testing.py": block("docs/reference/testing.md", "# shop/test_checkouts.py"),
}
SEEN = {
    "mypy": re.compile(r'looks\.py:(\d+): note: Revealed type is "(.+)"'),
    "pyright": re.compile(r'looks\.py:(\d+):\d+ - information: Type of ".+" is "(.+)"'),
}
REFUSED = re.compile(r"wrong\.py:(\d+):.*error")
CHECKED = ("mysite/urls.py", "mysite/celery.py", "shop")

pytestmark = pytest.mark.skipif(
    not (find_spec("mypy") and find_spec("pyright")), reason="needs the lint group of pyproject.toml"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> BlankProject:
    """The files of the quick start, and what the other pages show."""
    folder = tmp_path_factory.mktemp("typed") / "project"
    written = BlankProject.write(folder, Path(sys.executable), "http://127.0.0.1:1")
    (folder / "mypy.ini").write_text(MYPY)
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    pyright = {
        "include": ["mysite/settings.py", *CHECKED, "looks.py", "wrong.py"],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(pyright))
    (folder / "looks.py").write_text(LOOKS)
    (folder / "wrong.py").write_text(WRONG)
    return written


def found_by(project: BlankProject, *command: str) -> tuple[int, str]:
    """Run a type checker over the project's own code; gives its exit code and what it found."""
    paths = {"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project.folder,
        env=project.environment("", paths),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def found(project: BlankProject) -> dict[str, str]:
    """What each type checker says of all files."""
    pyright = ("pyright", "--pythonpath", sys.executable)
    return {
        "mypy": found_by(project, "mypy", *CHECKED, "looks.py", "wrong.py")[1],
        "pyright": found_by(project, *pyright)[1],
    }


def errors_in(said: str) -> list[str]:
    """Return the lines that are errors, but for the file that is wrong on purpose."""
    return [
        line
        for line in said.splitlines()
        if " error: " in line or " - error" in line
        if "wrong.py" not in line
    ]


@pytest.mark.parametrize("checker", SEEN)
def test_what_the_pages_show_has_no_error(found: dict[str, str], checker: str) -> None:
    """Mypy as strict as it can be, with django-stubs and its plug-in; pyright in its standard mode, which editors have."""
    assert errors_in(found[checker]) == [], found[checker]


@pytest.mark.parametrize("checker", SEEN)
def test_nothing_that_a_shop_looks_at_is_any(found: dict[str, str], checker: str) -> None:
    """Each look has a type."""
    seen = SEEN[checker].findall(found[checker])
    assert len(seen) == LOOKS.count("reveal_type(")
    lines = LOOKS.splitlines()
    vague = [
        (lines[int(line) - 1], kind) for line, kind in seen if re.search(r"\b(Any|Unknown|object)\b", kind)
    ]
    assert vague == []


@pytest.mark.parametrize("checker", SEEN)
def test_a_receiver_that_its_signal_cannot_call_is_refused(found: dict[str, str], checker: str) -> None:
    """In `connect` and in the signal's decorator; an unknown option of a checkout is refused, too."""
    refused = {int(line) for line in REFUSED.findall(found[checker])}
    assert refused == {
        number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")
    }
