"""What is wrong with the setting as it is written: each problem names the setting and the mend."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.utils.module_loading import import_string

from checkout_integration.conf.project import Project
from checkout_integration.conf.shapes import SHAPES
from checkout_integration.protocol.address import insecurity

SETTING = "CHECKOUT_INTEGRATION"
SHORTEST_SECRET = 16


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something wrong in the setting: a stable id, what is wrong, and how to mend it."""

    id: str
    message: str
    hint: str


APP_NAMES = frozenset({"PROJECTS", "RUNNER", "REQUEST_BUDGET", "RECEIVER_DEADLINE", "LOG_EXCEPTION_MESSAGES"})
PROJECT_NAMES = frozenset(each.name.upper() for each in fields(Project)) - {"ALIAS"}
OWN_NAMES = frozenset({"PROJECT_ID", "SECRET_KEY", "PREVIOUS_SECRET_KEYS"})
"""Names that only a project can set; every other name of a project may also stand beside PROJECTS, for all of them."""
REQUIRED_URLS = ("BASE_URL", "CHECKOUT_URL")
EXTENDED_URLS = (*REQUIRED_URLS, "ORDER_FORM_URL", "LIST_URL")
"""Addresses that a path is appended to."""
URLS = (*EXTENDED_URLS, "CLIENT_SCRIPT_URL")
ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")
"""An alias stands in the webhook's address and in a column of 64 characters."""


def problems(raw: object) -> Iterator[Problem]:
    """Everything wrong with the setting as written, each with the name of the setting and the mend."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("PROJECTS"), Mapping) or not raw["PROJECTS"]:
        yield Problem(
            id="checkout_integration.E001",
            message=f"{SETTING} has no PROJECTS.",
            hint=f'Set {SETTING} = {{"PROJECTS": {{"default": {{"PROJECT_ID": …, "SECRET_KEY": …}}}}, …}}.',
        )
        return
    shared = {name: value for name, value in raw.items() if name != "PROJECTS"}
    yield from _unknown(shared, APP_NAMES | (PROJECT_NAMES - OWN_NAMES), SETTING)
    yield from _shapes(shared, SETTING)
    for alias, own in raw["PROJECTS"].items():
        place = f'{SETTING}["PROJECTS"][{alias!r}]'
        if not isinstance(alias, str) or not ALIAS.fullmatch(alias):
            yield Problem(
                id="checkout_integration.E011",
                message=f'The alias {alias!r} in {SETTING}["PROJECTS"] cannot stand in the webhook\'s address.',
                hint="Make the alias of letters, digits and . _ ~ -, at most 64, beginning with a letter or a digit.",
            )
        if not isinstance(own, Mapping):
            yield Problem(
                id="checkout_integration.E001",
                message=f"{place} is not a dict.",
                hint="Make it a dict of settings.",
            )
            continue
        yield from _unknown(own, PROJECT_NAMES, place)
        yield from _shapes(own, place)
        yield from _project_problems(shared | dict(own), place)
    yield from _shared_secrets(raw["PROJECTS"])


def _project_problems(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for name in ("PROJECT_ID", "SECRET_KEY", *REQUIRED_URLS):
        if name not in values:
            yield Problem(
                id="checkout_integration.E002",
                message=f"{place} has no {name}.",
                hint=f"Set {name}" + (" there." if name in OWN_NAMES else f" there or in {SETTING}."),
            )
    if "PROJECT_ID" in values and not (
        isinstance(values["PROJECT_ID"], str) and values["PROJECT_ID"].strip()
    ):
        yield Problem(
            id="checkout_integration.E002",
            message=f"PROJECT_ID of {place} is empty or not text.",
            hint="Set PROJECT_ID to the project's identifier, as text.",
        )
    yield from _secrets(values, place)
    yield from _addresses(values, place)
    yield from _hooks(values, place)


def _unknown(values: Mapping[str, Any], known: frozenset[str], place: str) -> Iterator[Problem]:
    for name in values:
        if name not in known:
            yield Problem(
                id="checkout_integration.E003",
                message=f"{place} has an unknown key {name!r}.",
                hint=_instead(str(name), known),
            )


def _instead(name: str, known: frozenset[str]) -> str:
    if name in OWN_NAMES:
        return f"Set {name} in each project of PROJECTS: it is the project's own."
    if name in APP_NAMES:
        return f"Set {name} beside PROJECTS: it is for all of them."
    close = difflib.get_close_matches(name.upper(), sorted(known), n=1)
    return f"Did you mean {close[0]}?" if close else f"Remove it. Known are: {', '.join(sorted(known))}."


def _shapes(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for name, shape in SHAPES.items():
        if name in values and not shape.fits(values[name]):
            yield Problem(
                id="checkout_integration.E004",
                message=f"{name} of {place} is {values[name]!r}.",
                hint=f"Set {name} to {shape.mend}.",
            )


def _secrets(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    previous = values.get("PREVIOUS_SECRET_KEYS", ())
    if isinstance(previous, str) or not isinstance(previous, (list, tuple)):
        yield Problem(
            id="checkout_integration.E005",
            message=f"PREVIOUS_SECRET_KEYS of {place} is not a list.",
            hint="Set PREVIOUS_SECRET_KEYS to a list of texts or callables.",
        )
        previous = ()
    named = [("SECRET_KEY", values["SECRET_KEY"])] if "SECRET_KEY" in values else []
    for name, source in [*named, *(("PREVIOUS_SECRET_KEYS", each) for each in previous)]:
        if not callable(source):  # one that is callable is asked at each use, and judged by `secret_problems`
            yield from _secret(name, source, place)


def _secret(name: str, source: object, place: str) -> Iterator[Problem]:
    """What is wrong with a secret, which is not shown."""
    if not isinstance(source, str) or len(source.strip()) < SHORTEST_SECRET:
        yield Problem(
            id="checkout_integration.E005",
            message=f"{name} of {place} is empty, blank or shorter than {SHORTEST_SECRET} characters.",
            hint=f"Set {name} to the Secret key from the project's webhooks page, or to a callable that returns it.",
        )
    elif not (source.isascii() and source.isprintable()):
        yield Problem(
            id="checkout_integration.E005",
            message=f"{name} of {place} has characters that a header cannot carry.",
            hint=f"Set {name} to the Secret key as shown on the webhooks page: printable ASCII.",
        )
    elif source != source.strip():
        # The key is part of what is signed (AUT-04), and a header loses the blanks (AUT-02): never mended in silence.
        yield Problem(
            id="checkout_integration.E005",
            message=f"{name} of {place} begins or ends with a blank.",
            hint=f"Copy {name} from the project's webhooks page again, without the blank.",
        )


def secret_problems(project: Project) -> Iterator[Problem]:
    """What is wrong with the secrets of a project as they are now: what callables return is known only by asking them."""
    place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
    names = ("SECRET_KEY", *("PREVIOUS_SECRET_KEYS" for _ in project.previous_secret_keys))
    try:
        for name, secret in zip(names, project.secrets, strict=True):
            yield from _secret(name, secret.reveal(), place)
    except Exception as error:  # noqa: BLE001  # a callable of the shop's, which may ask another service
        yield Problem(
            id="checkout_integration.E005",
            message=f"A secret of {place} could not be asked for: {type(error).__name__}.",
            hint="Make the callables in SECRET_KEY and PREVIOUS_SECRET_KEYS return text where this runs, too.",
        )


def _shared_secrets(projects: Mapping[str, Any]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for alias, own in projects.items():
        for secret in _texts(own):
            if owners.setdefault(secret, alias) != alias:
                yield Problem(
                    id="checkout_integration.E006",
                    message=f"Projects {owners[secret]!r} and {alias!r} of {SETTING} share a SECRET_KEY.",
                    hint="Give each project its own SECRET_KEY: a notification is told apart by its signature only.",
                )


def _texts(own: object) -> set[str]:
    if not isinstance(own, Mapping):
        return set()
    previous = own.get("PREVIOUS_SECRET_KEYS")
    sources = (own.get("SECRET_KEY"), *(previous if isinstance(previous, (list, tuple)) else ()))
    return {each for each in sources if isinstance(each, str)}


def _addresses(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    loopback_allowed = values.get("ALLOW_HTTP_LOOPBACK", False)
    for name in URLS:
        optional = name not in REQUIRED_URLS
        if name not in values or (optional and values[name] == ""):
            continue
        address = values[name]
        if why := insecurity(address, loopback=loopback_allowed is True):
            yield Problem(
                id="checkout_integration.E007",
                message=f"{name} of {place} cannot be used: {why}.",
                hint=f"Set {name} to an https:// address{', or to an empty text' if optional else ''}. "
                "(http:// is for a sandbox on this machine only, with ALLOW_HTTP_LOOPBACK = True.)",
            )
        elif name in EXTENDED_URLS and not {"?", "#"}.isdisjoint(str(address)):
            yield Problem(
                id="checkout_integration.E007",
                message=f"{name} of {place} has a query or a fragment.",
                hint=f"Set {name} to the address without ? and #: a path is appended to it.",
            )


def _hooks(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    if "HOOKS" not in values:
        return
    path = values["HOOKS"]
    try:
        found = import_string(path) if isinstance(path, str) else None
    except Exception as error:  # noqa: BLE001  # the shop's module may raise anything when it is imported
        why = error if isinstance(error, ImportError) else type(error).__name__
        yield bad_hooks(f"HOOKS of {place} is {path!r}, which cannot be imported: {why}.")
        return
    if not isinstance(found, type):
        yield bad_hooks(f"HOOKS of {place} is {path!r}, which is not a class.")


def bad_hooks(message: str) -> Problem:
    """The problem that HOOKS names something else than the shop's class of hooks."""
    return Problem(
        id="checkout_integration.E008",
        message=message,
        hint="Set HOOKS to the dotted path of a subclass of checkout_integration.hooks.Hooks.",
    )
