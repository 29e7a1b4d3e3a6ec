"""The README's integration under mypy --strict with django-stubs, and under pyright: where the lint group is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.paths.blank import BlankProject

MYPY = """
[mypy]
strict = True
plugins = mypy_django_plugin.main

[mypy.plugins.django-stubs]
django_settings_module = mysite.settings

[mypy-mysite.settings,checkout_integration.*]
follow_imports = silent
"""
CHECKED = ("mysite/urls.py", "mysite/celery.py", "shop")

pytestmark = pytest.mark.skipif(
    not (find_spec("mypy") and find_spec("pyright")), reason="needs the lint group of pyproject.toml"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> BlankProject:
    """The README's files."""
    folder = tmp_path_factory.mktemp("typed") / "project"
    written = BlankProject.write(folder, Path(sys.executable), "http://127.0.0.1:1")
    (folder / "mypy.ini").write_text(MYPY)
    pyright = {
        "include": ["mysite/settings.py", *CHECKED],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(pyright))
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


def test_mypy_strict_finds_nothing(project: BlankProject) -> None:
    """With django-stubs and its plug-in, as many shops have it."""
    code, found = found_by(project, "mypy", *CHECKED)
    assert code == 0, found


def test_pyright_finds_nothing(project: BlankProject) -> None:
    """In its standard mode, which editors have."""
    code, found = found_by(project, "pyright", "--pythonpath", sys.executable)
    assert code == 0, found
