"""Every private name of the product that a test takes hold of, with the reason: a seam would not do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.documents import ROOT

PACKAGE: Final = "checkout_integration"
RACE: Final = "the moment between two statements of one transaction, at which another process comes in"
TAKEN: Final = {
    (
        "tests/flows/database/test_statements.py",
        "_insert_statement",
    ): "statements are composed once a process",
    ("tests/flows/checkout/test_idempotency.py", "_record_issued"): RACE,
    (
        "tests/flows/database/test_writable.py",
        "_is_read_only_file",
    ): "a file that root may write, whatever its mode",
    ("tests/flows/operations/test_draining.py", "_run_own"): RACE,
    ("tests/flows/outbox/test_claiming.py", "_claim_free"): RACE,
    ("tests/flows/outbox/test_claiming.py", "_mark"): RACE,
    ("tests/flows/privacy/test_erased_meanwhile.py", "_leave_tombstones"): RACE,
    ("tests/flows/privacy/test_erased_meanwhile.py", "_row_of"): RACE,
    ("tests/flows/privacy/test_erasing.py", "_leave_tombstones"): RACE,
    ("tests/flows/sync/test_passes.py", "_record_page"): "a fault of our own, in the middle of a pass",
    ("tests/flows/webhook/test_validators.py", "_places"): "a process that has two places instead of many",
    ("tests/test_telemetry.py", "_counters"): "instruments that fail, as those of the SDK do not",
    ("tests/test_telemetry.py", "_histograms"): "instruments that fail, as those of the SDK do not",
    ("tests/test_dispatch.py", "_runners"): "a runner that fails, put back after the test",
}
DOCUMENTED: Final = {"_meta", "_default_manager", "_base_manager", "_state", "_replace"}
"""Django's, which our models have, and what named tuples have."""


@pytest.mark.slow
def test_private_names_are_taken_where_no_seam_serves() -> None:
    """Import what a room's module offers, or use a setting, a hook or `connection.execute_wrapper`; else name the reason."""
    taken = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests").rglob("*.py")
        for name in private_names(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert taken == set(TAKEN)


def private_names(tree: ast.Module) -> Iterator[str]:
    """Yield the private names of the product that a module imports, reads or patches."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module and node.module.partition(".")[0] == PACKAGE]
    known = {alias.asname or alias.name for node in ours for alias in node.names}
    yield from (alias.name for node in ours for alias in node.names if is_private(alias.name))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if is_private(name) and _root(node) in known:
                yield name
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[ast.Constant(value=str(path)), *_]):
                if path.startswith(PACKAGE) and is_private(path.rpartition(".")[2]):
                    yield path.rpartition(".")[2]
            case ast.Call(
                func=ast.Attribute(attr="setattr"), args=[thing, ast.Constant(value=str(name)), *_]
            ):
                if is_private(name) and _root(thing) in known:
                    yield name


def is_private(name: str) -> bool:
    """Tell whether a name begins with one underscore and is not one of Django's documented ones."""
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def test_a_private_name_is_found() -> None:
    """However it is taken."""
    source = """
from checkout_integration.flows import erasing, _hidden
erasing._read
monkeypatch.setattr(erasing, "_patched", 1)
monkeypatch.setattr("checkout_integration.flows.erasing._by_path", 1)
erasing.Order._meta
other._thing
"""
    assert set(private_names(ast.parse(source))) == {"_hidden", "_read", "_patched", "_by_path"}
