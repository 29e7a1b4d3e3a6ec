"""Options of the sandbox's commands: each has a description, and can be given by the environment."""

from __future__ import annotations

import argparse

import pytest

from checkout_integration.sandbox.server.options import Options


def parser(environment: dict[str, str]) -> argparse.ArgumentParser:
    """A parser with one option of each kind."""
    made = argparse.ArgumentParser()
    options = Options(made, environment)
    options.add("--profile", "field", "which behaviour", choices=("field", "spec"))
    options.flag("--live", "pretend that payments are live")
    return made


def test_help_says_what_each_option_is_for() -> None:
    """With a value, and without."""
    text = parser({}).format_help()
    assert "which behaviour" in text
    assert "pretend that payments are live" in text


def test_the_environment_gives_the_default() -> None:
    """The command line overrides it."""
    environment = {"SANDBOX_PROFILE": "spec", "SANDBOX_LIVE": "yes"}
    assert vars(parser(environment).parse_args([])) == {"profile": "spec", "live": True}
    assert parser(environment).parse_args(["--profile", "field"]).profile == "field"


@pytest.mark.parametrize("variable", ["SANDBOX_PROFILE", "SANDBOX_LIVE"])
def test_a_word_that_cannot_be_meant_is_refused(variable: str) -> None:
    """Before the sandbox starts."""
    with pytest.raises(SystemExit) as ended:
        parser({variable: "maybe"})
    assert ended.value.code == 2
