"""The application: each sandbox of a process answers for itself."""

from __future__ import annotations

from werkzeug.test import Client

from checkout_integration.sandbox import Sandbox, SandboxProject
from checkout_integration.sandbox.server.app import SandboxApp


def test_two_sandboxes_of_a_process_answer_for_themselves() -> None:
    """They share nothing."""
    names = ["first-shop", "second-shop"]
    apps = [
        SandboxApp(Sandbox([SandboxProject(project_id=name, secret_key="sandbox_secret")])) for name in names
    ]
    answers = [Client(app).get("/_sandbox/project").get_data(as_text=True) for app in apps]
    assert [[name in answer for name in names] for answer in answers] == [[True, False], [False, True]]
