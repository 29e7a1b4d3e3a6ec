"""Drawing mutants: mutmut makes all that it can make of the package, a seed chooses among them."""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[3]
PACKAGE: Final = "checkout_integration"
AREAS: Final = ("client", "protocol", "policy", "flows", "api", "admin", "sandbox", "testing")
LEAST_OF_EACH: Final = 8


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One small change of one function.

    Attributes:
        area: the part of the package.
        file: path from the root of the repository.
        function: name of the function or method that is changed.
        line: where the change begins.
        diff: the lines that go and come, with signs before them.
        code: the whole file with the change.

    """

    area: str
    file: str
    function: str
    line: int
    diff: str
    code: str

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Place:
    """A mutant that could be made: the file, and its number among those of the file."""

    file: str
    number: int


def draw(counts: Mapping[str, Mapping[str, int]], seed: int, count: int) -> list[tuple[str, Place]]:
    """Choose places: some of each area first, then of all that are left, each place as likely as any other.

    Args:
        counts: for each area, how many mutants each of its files has.
        seed: the same seed draws the same places from the same code.
        count: how many are drawn.

    """
    source = random.Random(seed)
    places = {
        area: [Place(file, number) for file in sorted(files) for number in range(files[file])]
        for area, files in counts.items()
    }
    drawn = [
        (area, place)
        for area in sorted(places)
        for place in source.sample(places[area], min(LEAST_OF_EACH, len(places[area])))
    ]
    left = [(area, place) for area in sorted(places) for place in places[area] if (area, place) not in drawn]
    return [*drawn, *source.sample(left, max(0, min(count - len(drawn), len(left))))][:count]


def drawn_mutants(seed: int, count: int, areas: Sequence[str] = AREAS) -> list[Mutant]:
    """Return the mutants of the working tree that a seed draws."""
    made = {area: {file: _mutations(file) for file in _files(area)} for area in areas}
    counts = {area: {file: len(all_[1]) for file, all_ in files.items()} for area, files in made.items()}
    return [
        _mutant(area, place.file, *made[area][place.file], place.number)
        for area, place in draw(counts, seed, count)
    ]


def _files(area: str) -> list[str]:
    paths = sorted((ROOT / PACKAGE / area).rglob("*.py"))
    return [path.relative_to(ROOT).as_posix() for path in paths]


def _mutations(file: str) -> tuple[Any, list[Any]]:
    """Return the parsed file, and each change that mutmut would make inside of a function."""
    # Only the environment of the command has these.
    import libcst
    from mutmut.mutation.file_mutation import create_mutations

    code = (ROOT / file).read_text(encoding="utf-8")
    module, mutations, *_ = create_mutations(file, code)
    inside = [
        each for each in mutations if isinstance(each.contained_by_top_level_function, libcst.FunctionDef)
    ]
    return module, inside


def _mutant(area: str, file: str, module: Any, mutations: Sequence[Any], number: int) -> Mutant:
    mutation = mutations[number]
    changed = module.deep_replace(mutation.original_node, mutation.mutated_node).code
    line, diff = difference(module.code, changed)
    function = mutation.contained_by_top_level_function.name.value
    return Mutant(area=area, file=file, function=function, line=line, diff=diff, code=changed)


def difference(before: str, after: str) -> tuple[int, str]:
    """Return the first line that changes, counted from 1, and the lines that go and come."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    lines = [
        text
        for _, a, b, c, d in blocks
        for text in (*(f"- {one.strip()}" for one in old[a:b]), *(f"+ {one.strip()}" for one in new[c:d]))
    ]
    return (blocks[0][1] + 1 if blocks else 0), "\n".join(lines)
