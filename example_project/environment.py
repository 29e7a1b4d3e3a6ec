"""Make a command's own Python environment, with nothing but the standard library, pip and this repository.

`python3 -m tests` and `python3 -m example_project` start here: Debian's Python refuses a bare `pip install` and may lack
ensurepip, so each command brings its environment in `.environments/<name>`. It is made again only when what it holds changes.
The repository itself is not installed: it is run from the source tree.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from example_project.progress import saying

try:
    import tomllib
except ImportError:
    sys.exit("This needs Python 3.11 or later; name a newer one instead of python3, for example python3.11.")

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".environments"
_OUTDATED = "The dependencies have changed: run this command with your own python3, which makes the environment again."
_OWN_EXTRAS = re.compile(r"checkout-integration\[(.+)\]")


class EnvironmentFailed(Exception):
    """The environment could not be made; the text says in one line what to do."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What an environment holds.

    `wheels` are groups of which every requirement is optional: one for which no wheel fits this Python is left out.
    `compiled` are optional too, and compiled where no wheel fits: one whose compiler or headers are missing is left out.
    """

    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()

    def needed(self) -> list[str]:
        """Return the requirements without which the environment is of no use."""
        document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        extras = (line for extra in self.extras for line in _extra(document, extra))
        return sorted({*document["project"]["dependencies"], *extras, *_grouped(self.groups)})

    def optional(self) -> list[str]:
        """Return the requirements that are left out where no wheel fits."""
        return _grouped(self.wheels)

    def built(self) -> list[str]:
        """Return the requirements that are left out where they cannot be compiled."""
        return _grouped(self.compiled)

    def key(self) -> str:
        """Return a digest that changes when the environment has to be made again."""
        parts = [sys.version, sys.base_prefix, self.needed(), self.optional(), self.built()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def ensure(name: str, recipe: Recipe) -> Path:
    """Return the Python of `.environments/<name>`, which is made first where it is missing or out of date.

    Raises EnvironmentFailed when neither uv nor pip can make it, or when this Python is the one to be made again.
    """
    FOLDER.mkdir(exist_ok=True)
    folder = FOLDER / name
    with _only_one(FOLDER / f"{name}.lock"):
        if not _is_current(folder, recipe):
            if Path(sys.prefix).resolve() == folder.resolve():
                raise EnvironmentFailed(_OUTDATED)
            with saying(f"Making {folder.relative_to(ROOT)} (once; again only when dependencies change)"):
                make(folder, recipe.needed(), wheels=recipe.optional(), compiled=recipe.built())
            (folder / "key").write_text(recipe.key(), encoding="ascii")
    return _python_of(folder)


def make(
    folder: Path, lines: Sequence[str], *, wheels: Sequence[str] = (), compiled: Sequence[str] = ()
) -> Path:
    """Make an environment of these requirements in `folder`, replacing what is there, and return its Python.

    Of `wheels`, those that fit this Python are added, and of `compiled` those that can be compiled here. Raises
    EnvironmentFailed when neither uv nor pip can make it.
    """
    tools = [tool for tool in (_Uv(folder), _Pip(folder)) if tool.exists()]
    for tool in tools:
        shutil.rmtree(folder, ignore_errors=True)
        if tool.create() and tool.install(lines):
            break
        _say(f"{tool.name} could not make {folder}.")
    else:
        raise EnvironmentFailed(_advice(bool(tools)))
    for line in wheels:
        if not tool.install([line], wheels_only=True):
            _say(f"No wheel of {line} fits this Python: left out.")
    for line in compiled:
        if not tool.install([line]):
            _say(f"{line} cannot be compiled here: left out.")
    return _python_of(folder)


def enter(name: str, recipe: Recipe, command: Sequence[str]) -> None:
    """Run `python <command>` in the environment instead of this process; return at once when already there."""
    python = ensure(name, recipe)
    if Path(sys.prefix).resolve() == python.parent.parent.resolve():
        return
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(python, [str(python), *command])
    sys.exit(subprocess.call([str(python), *command]))


def _grouped(groups: Iterable[str]) -> list[str]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return sorted({line for group in groups for line in document["dependency-groups"][group]})


def _extra(document: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the requirements of an extra; `checkout-integration[a,b]` in it stands for the extras a and b."""
    for line in document["project"]["optional-dependencies"][name]:
        if own := _OWN_EXTRAS.fullmatch(line):
            for inner in own[1].split(","):
                yield from _extra(document, inner.strip())
        else:
            yield line


def _is_current(folder: Path, recipe: Recipe) -> bool:
    # The key is written last, so an environment whose making was cut short is not taken for a whole one.
    key = folder / "key"
    return _python_of(folder).exists() and key.exists() and key.read_text(encoding="ascii") == recipe.key()


def _advice(tried: bool) -> str:
    if tried:
        return "The packages could not be installed (see above); is the package index reachable from here?"
    return "This Python has no pip: install Debian's python3-pip (apt-get install python3-pip), or uv."


class _Uv:
    """uv, when it is installed."""

    name = "uv"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        # A version manager leaves a `uv` on the path that only says it is not active.
        return shutil.which("uv") is not None and _succeeds(["uv", "--version"], quiet=True)

    def create(self) -> bool:
        return _succeeds(["uv", "venv", "--quiet", "--python", sys.executable, str(self.folder)])

    def install(self, lines: Iterable[str], *, wheels_only: bool = False) -> bool:
        only = ["--only-binary", ":all:"] if wheels_only else []
        python = str(_python_of(self.folder))
        return _succeeds(
            ["uv", "pip", "install", "--quiet", "--python", python, *only, *lines], quiet=wheels_only
        )


class _Pip:
    """The pip of this Python, which installs into the new environment from outside: that needs no ensurepip."""

    name = "pip"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        return importlib.util.find_spec("pip") is not None

    def create(self) -> bool:
        return _succeeds([sys.executable, "-m", "venv", "--without-pip", str(self.folder)])

    def install(self, lines: Iterable[str], *, wheels_only: bool = False) -> bool:
        only = ["--only-binary", ":all:"] if wheels_only else []
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(_python_of(self.folder)),
            "--disable-pip-version-check",
        ]
        return _succeeds([*pip, "install", "-qq", *only, *lines], quiet=wheels_only)


def _python_of(folder: Path) -> Path:
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def _succeeds(command: list[str], *, quiet: bool = False) -> bool:
    errors = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=errors).returncode == 0


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Hold a lock among processes, where the system has them: two commands started at once make one environment."""
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield
        return
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make an environment from the command line and print the path of its Python."""
    parser = argparse.ArgumentParser(prog="python3 -m example_project.environment", description=main.__doc__)
    parser.add_argument("name", help="its folder under .environments")
    parser.add_argument(
        "--extra", action="append", default=[], help="an extra of pyproject.toml (repeatable)"
    )
    parser.add_argument("--group", action="append", default=[], help="a dependency group (repeatable)")
    options = parser.parse_args(arguments)
    recipe = Recipe(extras=tuple(options.extra), groups=tuple(options.group))
    try:
        print(ensure(options.name, recipe))
    except EnvironmentFailed as failed:
        _say(str(failed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
