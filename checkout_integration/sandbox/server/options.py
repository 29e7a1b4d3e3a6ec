"""Options of the sandbox's commands, also read from SANDBOX_<OPTION> in the environment."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from checkout_integration.sandbox.wire.addresses import is_web_address

EXAMPLE_SECRET: Final = "sandbox_secret_key"
PROFILES: Final = ("field", "spec")
_WORDS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
_LARGEST_PORT: Final = 65535


class Options:
    """The options of a parser, each with its default from the environment."""

    def __init__(self, parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
        """Add the options to `parser`; an invalid value in `environment` ends the program with exit code 2."""
        self._parser = parser
        self._environment = environment

    def add(
        self,
        name: str,
        default: str,
        text: str,
        *,
        choices: Iterable[str] = (),
        read: Callable[[str], object] = str,
    ) -> None:
        """Add an option with a value: one of `choices` if there are any, converted by `read`."""
        variable = _variable_of(name)
        value, known = self._environment.get(variable, default), [*choices]
        if known and value not in known:  # checked here, since the parser checks the command line only
            self._parser.error(f"{variable} must be one of {', '.join(known)}, not {value!r}")
        self._parser.add_argument(name, default=value, help=text, choices=known or None, type=read)

    def flag(self, name: str, text: str) -> None:
        """Add an option without a value."""
        variable = _variable_of(name)
        word = self._environment.get(variable, "")
        if word.lower() not in _WORDS:
            self._parser.error(f"{variable} must be 1 or 0, true or false, yes or no; not {word!r}")
        self._parser.add_argument(name, action="store_true", default=_WORDS[word.lower()], help=text)


def _variable_of(name: str) -> str:
    return "SANDBOX_" + name.strip("-").replace("-", "_").upper()


def port(text: str) -> int:
    """Read a port.

    Raises:
        ArgumentTypeError: it is no port.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= _LARGEST_PORT):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_LARGEST_PORT}, not {text!r}")
    return int(text)


def web_address(text: str) -> str:
    """Read an address; "" is none.

    Raises:
        ArgumentTypeError: it is not http(s).
    """
    if text and not is_web_address(text):
        raise argparse.ArgumentTypeError(
            f"an address begins with http:// or https:// and a host, not {text!r}"
        )
    return text
