"""The rooms: their front doors, and that the contracts about them turn red for one sabotaged import each.

The contracts are checked where the lint group is installed; `.ci/run` has it.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from copy import deepcopy
from importlib.util import find_spec
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import checkout_integration

if TYPE_CHECKING:
    from grimp import ImportGraph
    from importlinter.domain.contract import Contract

PACKAGE: Final = Path(checkout_integration.__file__).parent
ROOT: Final = PACKAGE.parent
GREEN: Final = attrgetter("kept")
"""What import-linter calls it."""
OUTSIDER: Final = "checkout_integration.urls"


def contracts(kind: str) -> dict[str, configparser.SectionProxy]:
    """Return the contracts of a kind by their names."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    return {str(each["name"]): each for each in parser.values() if each.get("type") == kind}


DOORS: Final = contracts("protected")
LAYERS: Final = contracts("layers")
ROOMS: Final = sorted(door["allowed_importers"].strip() for door in DOORS.values())


def test_nothing_of_flows_stands_outside_a_room() -> None:
    """Each of its rooms has a front door, and `flows` itself is what a shop calls."""
    rooms = {
        f"checkout_integration.flows.{each.name}" for each in (PACKAGE / "flows").iterdir() if each.is_dir()
    }
    assert rooms - {"checkout_integration.flows.__pycache__"} <= set(ROOMS)
    assert [path.name for path in (PACKAGE / "flows").glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_reads_as_the_contents_of_its_path(room: str) -> None:
    """Its front door says what stands behind it, and names what others call, by importing it."""
    text = (ROOT / room.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert "import" in text.partition('"""\n')[2]


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    """Give the imports of the package."""
    if find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed")
    from grimp import build_graph

    return build_graph("checkout_integration", include_external_packages=True, cache_dir=None)


def contract_of(name: str) -> Contract:
    """Return the contract of this name."""
    from importlinter.api import read_configuration
    from importlinter.contracts.layers import LayersContract
    from importlinter.contracts.protected import ProtectedContract

    configuration = read_configuration(str(ROOT / ".importlinter"))
    (options,) = (each for each in configuration["contracts_options"] if each["name"] == name)
    kind = ProtectedContract if options["type"] == "protected" else LayersContract
    return kind(name, configuration["session_options"], options)


def is_green(contract: Contract, graph: ImportGraph) -> bool:
    """Return whether the contract is green; it may change the graph that it looks at."""
    return bool(GREEN(contract.check(deepcopy(graph), verbose=False)))


def is_refused(contract: Contract, graph: ImportGraph, importer: str, imported: str) -> bool:
    """Return whether one more import turns the contract red."""
    sabotaged = deepcopy(graph)
    sabotaged.add_import(importer=importer, imported=imported, line_number=1, line_contents="sabotage")
    return not is_green(contract, sabotaged)


@pytest.mark.parametrize("name", DOORS)
def test_nobody_imports_past_a_front_door(graph: ImportGraph, name: str) -> None:
    """What stands behind it is private."""
    contract, room = contract_of(name), DOORS[name]["allowed_importers"].strip()
    assert is_green(contract, graph)
    assert is_refused(contract, graph, OUTSIDER, min(graph.find_children(room)))


@pytest.mark.parametrize("name", LAYERS)
def test_nobody_imports_what_is_above(graph: ImportGraph, name: str) -> None:
    """One import from each room, of one in the next layer above."""
    contract, container = contract_of(name), LAYERS[name]["containers"].strip()
    assert is_green(contract, graph)
    for importer, imported in upward(LAYERS[name]["layers"]):
        assert is_refused(contract, graph, f"{container}.{importer}", f"{container}.{imported}")


def upward(layers: str) -> Iterator[tuple[str, str]]:
    """Yield each room with one of the next layer above it."""
    rows = [[name.strip() for name in line.split("|")] for line in layers.strip().splitlines()]
    for above, below in pairwise(rows):
        yield from ((importer, above[0]) for importer in below)
