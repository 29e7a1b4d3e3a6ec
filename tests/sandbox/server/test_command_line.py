"""The sandbox as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from checkout_integration import sandbox
from checkout_integration.sandbox.merchant.project_files import read_projects

ROOT = Path(__file__).resolve().parents[3]


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


def test_it_serves_until_it_is_stopped() -> None:
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
    assert url.startswith("http://127.0.0.1:")  # on this machine only: without a certificate (AUT-01)


@pytest.mark.spec("WHK-05")
@pytest.mark.parametrize(("profile", "says"), [("spec", True), ("field", False)])
def test_it_says_what_the_shop_has_to_set(profile: str, says: bool) -> None:
    """All attempts of a notification have the time of the event; only the shop knows how it reads them."""
    with run("--profile", profile) as process:
        assert process.stdout
        url = process.stdout.readline().split()[1]
        requests.get(f"{url}/_sandbox/clock", timeout=10)
        process.terminate()
        printed = process.stdout.read()
    assert ("shop:          set RETRY_INTERVAL to 0" in printed) == says


def test_it_answers_to_the_hosts_that_it_was_started_for() -> None:
    """The names of the option and of the public address, and this machine's; no other."""
    with run("--public-url", "https://pay.test", SANDBOX_ALLOWED_HOSTS="sandbox, shop.test") as process:
        assert process.stdout
        url = process.stdout.readline().split()[1]
        answers = {
            host: requests.get(f"{url}/_sandbox/clock", headers={"Host": host}, timeout=10).status_code
            for host in ("sandbox:8090", "shop.test", "pay.test", "localhost", "evil.test")
        }
        process.terminate()
        process.communicate(timeout=20)
    assert answers.pop("evil.test") == 421
    assert set(answers.values()) == {200}


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            ["--state", "/nowhere/state"],
            "--state /nowhere/state cannot be used (unable to open database file)",
        ),
        (["--state", __file__], "cannot be used (file is not a database)"),
        (["--port", "-1"], "a port is a number from 0 to 65535"),
        (["--port", "99999"], "a port is a number from 0 to 65535"),
        (["--host", "nowhere.invalid"], "the sandbox cannot listen: "),
        (["--public-url", "nonsense"], "an address begins with http:// or https://"),
        (["--projects", __file__], "test_command_line.py: this cannot be read as JSON"),
        (["--catalogue", __file__], "test_command_line.py: this cannot be read as JSON"),
    ],
)
def test_what_cannot_be_used_is_named_in_a_sentence(option: list[str], words: str) -> None:
    """Exit code 2 with advice, not a traceback."""
    with run(*option) as process:
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in errors) == (2, False)
    assert words in errors


@pytest.mark.parametrize(
    ("projects", "words"),
    [
        ("{}", "a file of projects is a JSON array of objects"),
        ('[{"project_id": "p"}]', "each project needs secret_key"),
        (
            '[{"project_id": "p", "secret_key": "sandbox_s", "colour": 1}]',
            "a project has no colour; activated",
        ),
        ('[{"project_id": "p", "secret_key": "sandbox_s", "mode": "often"}]', "often"),
        (
            '[{"project_id": "p", "secret_key": "sandbox_s", "catalogue": 5}]',
            "catalogue is the path of a file",
        ),
    ],
)
def test_a_file_of_projects_that_is_none(tmp_path: Path, projects: str, words: str) -> None:
    """The message names the file and the problem."""
    file = tmp_path / "projects.json"
    file.write_text(projects)
    with pytest.raises(ValueError, match=words) as refused:
        read_projects(str(file))
    assert str(refused.value).startswith(f"{file}: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "on"), [("1", True), ("Yes", True), ("true", True), ("0", False), ("", False)]
)
def test_a_flag_is_given_by_the_environment(word: str, on: bool) -> None:
    """As every other option."""
    with run(SANDBOX_LIVE=word, SANDBOX_ASK_BILLING_ADDRESS=word) as process:
        assert process.stdout
        url = process.stdout.readline().split()[1]
        project = requests.get(f"{url}/_sandbox/project", timeout=10).json()
        process.terminate()
        process.communicate(timeout=20)
    assert (project["live"], project["ask_billing_address"]) == (on, on)


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["SANDBOX_LIVE", "SANDBOX_PROFILE", "SANDBOX_MODE", "SANDBOX_VAT_PAYER"])
def test_a_word_of_the_environment_that_means_nothing(variable: str) -> None:
    """The variable is named, with the words that it knows."""
    with run(**{variable: "perhaps"}) as process:
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"error: {variable} must be " in errors and "'perhaps'" in errors


@pytest.mark.parametrize("package", ["jinja2", "werkzeug"])
def test_without_its_extra_it_says_what_to_install(package: str) -> None:
    """In one line."""
    code = (
        "import runpy, sys\n"
        f"sys.modules['{package}'] = None\n"
        "runpy.run_module('checkout_integration.sandbox', run_name='__main__')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == f"The sandbox needs {package}: pip install 'checkout-integration[sandbox]'.\n"


def test_every_public_name_is_there() -> None:
    """And no other."""
    assert all(getattr(sandbox, name).__name__ == name for name in sandbox.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Tandbox'"):
        _ = sandbox.Tandbox


def test_it_needs_neither_django_nor_celery() -> None:
    """The sandbox and its command import without them, and nothing of ours but the vocabulary."""
    code = (
        "import sys\n"
        "for name in ('django', 'celery', 'rest_framework'): sys.modules[name] = None\n"
        "import checkout_integration.sandbox.scenarios.command, checkout_integration.sandbox.server.command_line\n"
        "ours = {n for n in sys.modules if n.startswith('checkout_integration.') and '.sandbox' not in n}\n"
        "assert ours == {'checkout_integration.protocol', 'checkout_integration.protocol.vocabulary'}, ours\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
