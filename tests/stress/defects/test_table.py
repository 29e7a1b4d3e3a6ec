"""The table of seeded defects is about this product: `python3 -m tests.stress.defects` tries it."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from tests.stress.defects.table import ROOT, Defect, defects

TABLE = defects()


def test_there_are_enough_of_them() -> None:
    """Each has a name of its own."""
    assert len({each.name for each in TABLE}) == len(TABLE) >= 25


@pytest.mark.parametrize("defect", TABLE, ids=lambda each: each.name)
def test_the_old_text_is_there(defect: Defect, tmp_path: Path) -> None:
    """A defect without its line guards nothing and must be updated. Its result must be valid Python."""
    copy = tmp_path / defect.file
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / defect.file, copy)
    defect.seed(tmp_path)
    ast.parse(copy.read_text(encoding="utf-8"))


@pytest.mark.parametrize("defect", TABLE, ids=lambda each: each.name)
def test_its_test_is_there(defect: Defect) -> None:
    """The test that must notice is a function of the module that is named, and not skipped on the defect's database."""
    file, _, name = defect.test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    marks = {ast.unparse(mark) for mark in functions[name.partition("[")[0]].decorator_list}
    servers = marks & {"pytest.mark.postgres", "pytest.mark.mariadb"}
    assert not servers or f"pytest.mark.{defect.database}" in servers
