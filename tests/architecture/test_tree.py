"""The tree itself: names of modules, packages of tests, words that no file may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMELESS = {"utils", "helpers", "common", "misc", "mixins", "base"}
# Written in two halves, or this file would hold them.
REGISTRY_HOSTS = [
    "pypi." + "org",
    "pythonhosted" + ".org",
    "registry." + "npmjs",
    "proxy.golang" + ".org",
    "crates" + ".io",
]


def tracked() -> list[Path]:
    """Return the files that git knows."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [path for name in names.decode().split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Give the tracked files; a copy of the tests without a repository has none to judge."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return tracked()


def test_no_module_is_a_drawer(files: list[Path]) -> None:
    """A module is named for what it holds."""
    drawers = [path for path in files if path.suffix == ".py" and NAMELESS & {path.stem, path.parent.name}]
    assert drawers == []


def test_every_folder_of_tests_is_a_package(files: list[Path]) -> None:
    """Without an `__init__.py` two test modules of one name would shadow each other."""
    folders = {path.parent for path in files if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_no_file_names_a_package_registry(files: list[Path], host: str) -> None:
    """Where packages come from is the business of the machine, not of the repository."""
    assert [path for path in files if host.encode() in path.read_bytes()] == []


def test_no_file_cites_a_text_that_nobody_has(files: list[Path]) -> None:
    """A comment cites a statement of the specification, such as EP1-15, or a page of docs."""
    private = re.compile(r"\((?:G\d{1,2}|A\.\d{1,2})\b|field" + r" notes|semantics" + r",? section")
    cited = [
        path for path in files if path.suffix in {".py", ".md", ".toml"} and private.search(text_of(path))
    ]
    assert [path for path in cited if path.name != "test_tree.py"] == []


def text_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")
