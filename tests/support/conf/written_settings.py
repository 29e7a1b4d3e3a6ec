"""The setting as a merchant writes it, with changes."""

from __future__ import annotations

from typing import Any

from checkout_integration.conf.problems import Problem, problems

CANARY = "canary-secret-key-0123456789"
OWN: dict[str, Any] = {"PROJECT_ID": "p", "SECRET_KEY": CANARY}
GOOD: dict[str, Any] = {
    "PROJECTS": {"default": OWN},
    "BASE_URL": "https://service.invalid",
    "CHECKOUT_URL": "https://checkout.invalid/path",
}
MISSING = object()


def found(raw: object) -> list[Problem]:
    """Everything that is wrong."""
    return list(problems(raw))


def with_shared(**changes: Any) -> dict[str, Any]:
    """The good setting with these names beside PROJECTS; MISSING takes one away."""
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not MISSING}


def with_own(**changes: Any) -> dict[str, Any]:
    """The good setting with these names in the project."""
    return with_shared(
        PROJECTS={"default": {k: v for k, v in {**OWN, **changes}.items() if v is not MISSING}}
    )
