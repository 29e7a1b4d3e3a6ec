"""The sandbox as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start the command with a free port."""
    return subprocess.Popen(
        [sys.executable, "-m", "checkout_integration.sandbox", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_it_serves_until_it_is_told_to_stop() -> None:
    """It prints its addresses, takes the secret from the environment, and ends with 0."""
    with run("--project-id", "p-1", SANDBOX_SECRET_KEY="sandbox_other") as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(6)]
        url = printed[0].split()[1]
        answer = requests.get(f"{url}/merchant/s2s/api/v1/order", auth=("p-1", "sandbox_other"), timeout=10)
        process.terminate()
        _, errors = process.communicate(timeout=20)
    assert answer.json() == {"count": 0, "items": None}
    assert f"operator:      {url}/_sandbox/\n" in printed
    assert (process.returncode, errors) == (0, "")
    assert "sandbox_other" not in "".join(printed)


@pytest.mark.parametrize(
    "option",
    [["--secret-key", "real"], ["--webhook-url", "http://shop.example/"], ["--catalogue", "/nowhere"]],
)
def test_it_refuses_what_is_dangerous(option: list[str]) -> None:
    """A usage error is exit code 2 and says why, without the secret."""
    with run(*option) as process:
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 2
    assert any(word in errors for word in ("sandbox secret_key", "loopback", "No such file"))


def test_it_needs_neither_django_nor_celery() -> None:
    """The sandbox and its command import without them, and nothing of ours but the vocabulary."""
    code = (
        "import sys\n"
        "for name in ('django', 'celery', 'rest_framework'): sys.modules[name] = None\n"
        "import checkout_integration.sandbox.command_line\n"
        "ours = {n for n in sys.modules if n.startswith('checkout_integration.') and '.sandbox' not in n}\n"
        "assert ours == {'checkout_integration.protocol', 'checkout_integration.protocol.vocabulary'}, ours\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
