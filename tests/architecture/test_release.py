"""A release: versions that are tested, distributions that are whole, and workflows that store no secret."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkout_integration import __version__
from tests.support.documents import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"^\s*- uses: [\w./-]+@[0-9a-f]{40}  # v\d+(\.\d+)*$")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def repository() -> None:
    """Only a repository, or a source distribution, is released."""
    if not WORKFLOWS:
        pytest.skip("a copy of the tests has no workflows")


def parsed(path: Path) -> Any:
    """Return a workflow. YAML 1.1 reads its key ``on`` as true."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def environments() -> set[str]:
    """Return the environments that tox runs without a name."""
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    found = set()
    for line in tox["tox"]["env_list"].split():
        begins, _, choices = line.partition("{")
        found |= {begins + each for each in choices.rstrip("}").split(",")} if choices else {begins}
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_gets_no_more_than_it_needs(path: Path) -> None:
    """No right by default, a commit of each action, no credentials in the clone, and no secret at all."""
    workflow, text = parsed(path), path.read_text(encoding="utf-8")
    assert workflow["permissions"] == {}
    used = [line for line in text.splitlines() if "uses:" in line]
    assert [line for line in used if not PINNED.match(line)] == []
    for job in workflow["jobs"].values():
        assert set(job["permissions"].items()) <= {("contents", "read"), ("id-token", "write")}
        steps = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert all(step["with"] == {"persist-credentials": False} for step in steps)
    assert "secrets." not in text
    assert not re.search(r"run:.*\$\{\{", text), "a value of the event in a script can be a command"


def test_only_publishing_may_ask_for_an_identity() -> None:
    """In the one job that has nothing of the repository; its environment says who approves it."""
    asking = {
        (path.name, name)
        for path in WORKFLOWS
        for name, job in parsed(path)["jobs"].items()
        if "id-token" in job["permissions"]
    }
    assert asking == {("publish.yml", "publish")}
    (publish,) = (parsed(path)["jobs"]["publish"] for path in WORKFLOWS if path.name == "publish.yml")
    assert publish["environment"] == "release" and publish["needs"] == "build"
    assert not any(step.get("uses", "").startswith("actions/checkout@") for step in publish["steps"])


def test_ci_runs_each_environment_of_tox() -> None:
    """With the Python that its name says."""
    (ci,) = (parsed(path) for path in WORKFLOWS if path.name == "ci.yml")
    rows = ci["jobs"]["tests"]["strategy"]["matrix"]["include"]
    assert {row["environment"] for row in rows} == environments()
    for row in rows:
        if named := re.match(r"py3(\d+)-", row["environment"]):
            assert row["python"] == f"3.{named[1]}"


def test_every_version_that_is_named_is_tested() -> None:
    """Classifiers are promises: each Python and each Django has an environment."""
    classifiers = PYPROJECT["project"]["classifiers"]
    pythons = {each.rpartition(" ")[2] for each in classifiers if re.search(r"Python :: 3\.\d+$", each)}
    djangos = {each.rpartition(" ")[2] for each in classifiers if re.search(r"Django :: \d", each)}
    pairs = [re.match(r"py3(\d+)-django(\d)(\d)", each) for each in environments()]
    tested = [pair.groups() for pair in pairs if pair]
    assert pythons <= {f"3.{python}" for python, _, _ in tested}
    assert djangos == {f"{major}.{minor}" for _, major, minor in tested}


def test_the_changelog_has_the_version() -> None:
    """And the tag has to be that of the version."""
    checks = [sys.executable, str(ROOT / ".ci" / "check_tag.py")]
    for tag, code in ((f"v{__version__}", 0), (__version__, 1), ("v0.0.1", 1)):
        ended = subprocess.run([*checks, tag], capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr


@pytest.mark.slow
def test_what_is_built_is_whole(tmp_path: Path) -> None:
    """Wheel and sdist: the wheel has no sources of translations, the sdist has them, the tests and the pages."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    judged = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "check_wheel.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "imports and migrates without Celery" in judged.stdout
