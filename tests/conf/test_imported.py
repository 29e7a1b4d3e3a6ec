"""Settings that name something of the shop's by its dotted path: HOOKS and HTTP_SESSION."""

from __future__ import annotations

import pytest

from tests.support.conf.written_settings import found, with_shared


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("shop.no_such_module.Hooks", "cannot be imported: No module named"),
        ("checkout_integration.hooks.NoHooks", "cannot be imported"),
        ("nodots", "cannot be imported"),
        ("", "cannot be imported"),
        ("tests.support.conf.failing_module.Hooks", "cannot be imported: ZeroDivisionError"),
        ("checkout_integration.hooks.load_hooks", "is not a class"),
        (None, "is not a class"),
        (5, "is not a class"),
    ],
)
def test_hooks_are_the_dotted_path_of_a_class(path: object, why: str) -> None:
    """Whatever the shop's module does when it is imported."""
    (problem,) = found(with_shared(HOOKS=path))
    assert problem.id == "checkout_integration.E008"
    assert problem.message.startswith("HOOKS of CHECKOUT_INTEGRATION") and why in problem.message
    assert "dotted path of a subclass of checkout_integration.hooks.Hooks" in problem.hint


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("shop.no_such_module.session", "cannot be imported: No module named"),
        ("tests.support.conf.failing_module.session", "cannot be imported: ZeroDivisionError"),
        ("checkout_integration.conf.SETTING", "is not a function"),
        (None, "is not a function"),
    ],
)
def test_the_session_is_the_dotted_path_of_a_function(path: object, why: str) -> None:
    """It is called for each client."""
    (problem,) = found(with_shared(HTTP_SESSION=path))
    assert problem.id == "checkout_integration.E014"
    assert problem.message.startswith("HTTP_SESSION of CHECKOUT_INTEGRATION") and why in problem.message
    assert "returns a requests.Session" in problem.hint
