"""Which statements a module of tests claims to prove: its marks, each of them on that very test.

A claim is made by ``pytest.mark.spec("EP1-15")`` in one of three places, the same from which pytest takes it:

- a decorator of the test or of its class;
- ``pytestmark`` of the module or of the class;
- ``pytest.param(..., marks=...)`` among the values of a ``parametrize`` in one of those places. The values may be a
  list of the module, which then counts only for the tests whose own ``parametrize`` names it.

Standard library only, so that the map can be made anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Place = tuple[int, int]
"""Line and column of a statement's id in a mark."""


@dataclass(frozen=True, kw_only=True, order=True)
class Claim:
    """One statement that one test, or one case of a parametrized test, is marked to prove.

    Attributes:
        statement: the statement's id.
        test: the test's name, after its class's if it has one.
        case: the arguments of the case that carries the mark; "" when the whole test does.
        place: where the id stands.

    """

    statement: str
    test: str
    case: str
    place: Place


def claims_of(tree: ast.Module) -> Iterator[Claim]:
    """Return the claims of a module of tests."""
    lists = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    yield from _claims_in(tree.body, "", _pytestmark(tree.body), lists)


def places_of(tree: ast.Module) -> list[Place]:
    """Return the place of each id in each mark of a module, whether or not it makes a claim."""
    return [place for node in ast.walk(tree) if isinstance(node, ast.expr) for _, place in _ids(node)]


def _claims_in(
    body: list[ast.stmt], prefix: str, inherited: list[ast.expr], lists: dict[str, ast.expr]
) -> Iterator[Claim]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            marks = [*inherited, *_pytestmark(node.body), *node.decorator_list]
            yield from _claims_in(node.body, f"{prefix}{node.name}::", marks, lists)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            for mark in [*inherited, *node.decorator_list]:
                for statement, case, place in _claimed_by(mark, lists):
                    yield Claim(statement=statement, test=prefix + node.name, case=case, place=place)


def _pytestmark(body: list[ast.stmt]) -> list[ast.expr]:
    """Return the marks that a module or class gives to all its tests."""
    values = [
        node.value
        for node in body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
    ]
    return [mark for value in values for mark in _elements(value)]


def _claimed_by(mark: ast.expr, lists: dict[str, ast.expr]) -> Iterator[tuple[str, str, Place]]:
    yield from ((statement, "", place) for statement, place in _ids(mark))
    if not (isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.parametrize"):
        return
    values = [*mark.args[1:2], *(given.value for given in mark.keywords if given.arg == "argvalues")]
    for param in [param for value in values for param in _members(value, lists)]:
        if isinstance(param, ast.Call) and ast.unparse(param.func) == "pytest.param":
            case = ", ".join(ast.unparse(argument) for argument in param.args)
            for given in param.keywords:
                marks = _elements(given.value) if given.arg == "marks" else []
                yield from ((statement, case, place) for one in marks for statement, place in _ids(one))


def _members(value: ast.expr, lists: dict[str, ast.expr]) -> Iterator[ast.expr]:
    """Return the members of a list that is written out, named, or put together of such lists."""
    if isinstance(value, ast.Name) and value.id in lists:
        yield from _members(lists[value.id], lists)
    elif isinstance(value, ast.BinOp):
        yield from _members(value.left, lists)
        yield from _members(value.right, lists)
    elif isinstance(value, ast.List | ast.Tuple):
        for member in value.elts:
            if isinstance(member, ast.Starred):
                yield from _members(member.value, lists)
            else:
                yield member


def _elements(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _ids(mark: ast.expr) -> list[tuple[str, Place]]:
    """Return the ids of a call of ``pytest.mark.spec``, none of another expression."""
    if not (isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.spec"):
        return []
    ids = [argument for argument in mark.args if isinstance(argument, ast.Constant)]
    return [(str(argument.value), (argument.lineno, argument.col_offset)) for argument in ids]
