"""Changed settings of a project over a restart with a state file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checkout_integration.sandbox import Sandbox, SandboxProject


def project(state: Path, changes: dict[str, Any] | None = None, **given: Any) -> SandboxProject:
    """Start a sandbox on a state file, change its project, stop it; returns the project as it was then."""
    first = SandboxProject(**{"project_id": "p", "secret_key": "sandbox_s", **given})
    with Sandbox([first], state=state) as sandbox:
        return sandbox.projects.update("p", **changes) if changes else sandbox.projects.get("p")


@pytest.mark.parametrize(
    "changes",
    [
        {"secret_key": "sandbox_new"},
        {"mode": "pre_approval", "live": True, "invalid_status": 422},
        {"retry_schedule": [1, 2.5], "retry_interval": 0.5, "retry_limit": 3},
        {"virtual_currency_price": Decimal("0.25"), "charge_currency": "JPY", "charge_rate": 150},
    ],
)
def test_a_change_survives(tmp_path: Path, changes: dict[str, Any]) -> None:
    """While the options of the start are the same, over any number of restarts."""
    changed = project(tmp_path / "state", changes)
    assert changed != SandboxProject(project_id="p", secret_key="sandbox_s")
    assert [project(tmp_path / "state") for _ in range(2)] == [changed, changed]


def test_another_start_means_it(tmp_path: Path) -> None:
    """A setting that is given anew wins over an old change; the other changes stay."""
    project(tmp_path / "state", {"secret_key": "sandbox_old_change", "title": "Hats"})
    again = project(tmp_path / "state", secret_key="sandbox_rotated")
    assert (again.secret_key, again.title) == ("sandbox_rotated", "Hats")


def test_a_change_can_be_taken_back(tmp_path: Path) -> None:
    """A setting with its original value is no change."""
    project(tmp_path / "state", {"title": "Hats"})
    project(tmp_path / "state", {"title": "Sandbox Games"})
    assert project(tmp_path / "state", title="Gems").title == "Gems"
    assert project(tmp_path / "state").title == "Sandbox Games"


def test_a_change_that_no_longer_goes_is_left_out(tmp_path: Path) -> None:
    """The guards apply at the restart too."""
    project(tmp_path / "state", {"webhook_url": "https://shop.example/"}, unsafe_allow_any_webhook=True)
    assert project(tmp_path / "state").webhook_url == ""
