"""Parts of the pages: the test kit."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from checkout_integration.testing import (
    assertions,
    cases,
    delivery,
    factories,
    interruption,
    orderings,
    payloads,
    plugin,
    service,
)
from tests.reference.docstrings import parse, parsed
from tests.reference.markdown import anything, function, joined, quoted, section


def fixtures() -> dict[str, str]:
    """Return the docstrings of the fixtures by name, read from the source: fixtures are no functions any more."""
    return {
        each.name: parse(ast.get_docstring(each) or "").prose
        for each in ast.parse(inspect.getsource(plugin)).body
        if isinstance(each, ast.FunctionDef)
    }


@section
def fixture_list() -> str:
    """Return the fixtures of pytest."""
    return joined(*(joined(f"### `{name}`", text) for name, text in fixtures().items()))


@section
def fixture_values() -> str:
    """Return what the fixtures give."""
    acts = [
        name
        for name, act in vars(service.CheckoutSandbox).items()
        if inspect.isfunction(act) and name[0] != "_"
    ]
    return joined(
        "## `checkout_sandbox`: acts",
        *(function(name, getattr(service.CheckoutSandbox, name)) for name in acts),
        "## `checkout_deliver`: the call",
        function("checkout_deliver", delivery.Deliver.__call__),
        "## `checkout_orderings`: the call",
        function("checkout_orderings", orderings.Orderings.__call__),
        function("checkout_orderings.assert_same", orderings.Orderings.assert_same),
    )


@section
def case_list() -> str:
    """Return the mixins."""
    kinds = (vars(cases)[name] for name in cases.__all__)
    return joined(*(joined(f"### `{kind.__name__}`", parsed(kind).prose) for kind in kinds))


@section
def interruption_list() -> str:
    """Return what interrupts receivers."""
    return joined(*(function(name, vars(interruption)[name]) for name in interruption.__all__))


@section
def factory_list() -> str:
    """Return the factories."""
    parts = []
    for module in (factories, payloads):
        for name in module.__all__:
            thing = getattr(module, name)
            parts.append(_factory(name, thing) if inspect.isclass(thing) else anything(name, thing))
    return joined(*parts)


def _factory(name: str, kind: Any) -> str:
    fields = ", ".join(map(quoted, kind._meta.pre_declarations.declarations))
    return joined(f"### `{name}`", parsed(kind).prose, f"Keywords: {fields}." if fields else "")


@section
def assertion_list() -> str:
    """Return the assertions."""
    return joined(*(function(name, getattr(assertions, name)) for name in assertions.__all__))
