"""What is wrong with the setting as it is written: each problem names the setting and the mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from django.utils.module_loading import import_string

from checkout_integration.conf.project import Project
from checkout_integration.protocol.signature import Encoding

SETTING = "CHECKOUT_INTEGRATION"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SHORTEST_SECRET = 16


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something wrong in the setting: a stable id, what is wrong, and how to mend it."""

    id: str
    message: str
    hint: str


APP_NAMES = frozenset({"PROJECTS", "RECEIVERS_RUN"})
PROJECT_NAMES = frozenset(each.name.upper() for each in fields(Project)) - {"ALIAS"}
OWN_NAMES = frozenset({"PROJECT_ID", "SECRET_KEY", "PREVIOUS_SECRET_KEYS"})
"""Names that only a project can set; every other name of a project may also stand beside PROJECTS, for all of them."""
REQUIRED_URLS = ("BASE_URL", "CHECKOUT_URL")
URLS = (*REQUIRED_URLS, "ORDER_FORM_URL", "LIST_URL", "CLIENT_SCRIPT_URL")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "UNBOUND_ORDERS": ("review", "accept"),
    "LIST_ARRAY_STYLE": ("brackets", "plain"),
    "RECEIVERS_RUN": ("request", "celery", "worker"),
    "VALIDATE_REFUSE_STATUS": tuple(range(400, 500)),
}


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
    yield from _choices(shared, SETTING)
    for alias, own in raw["PROJECTS"].items():
        place = f'{SETTING}["PROJECTS"][{alias!r}]'
        if not isinstance(own, Mapping):
            yield Problem(
                id="checkout_integration.E001",
                message=f"{place} is not a dict.",
                hint="Make it a dict of settings.",
            )
            continue
        yield from _unknown(own, PROJECT_NAMES, place)
        yield from _choices(own, place)
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
            close = difflib.get_close_matches(str(name), sorted(known), n=1)
            hint = (
                f"Did you mean {close[0]}?" if close else f"Remove it. Known are: {', '.join(sorted(known))}."
            )
            yield Problem(
                id="checkout_integration.E003", message=f"{place} has an unknown key {name!r}.", hint=hint
            )


def _choices(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for name, allowed in CHOICES.items():
        if name in values and values[name] not in allowed:
            said = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 5 else ", ".join(map(repr, allowed))
            yield Problem(
                id="checkout_integration.E004",
                message=f"{name} of {place} is {values[name]!r}.",
                hint=f"Set {name} to one of: {said}.",
            )
    encodings = values.get("SIGNATURE_ENCODINGS", ("hex",))
    if isinstance(encodings, str) or not encodings or not set(encodings) <= set(Encoding):
        yield Problem(
            id="checkout_integration.E004",
            message=f"SIGNATURE_ENCODINGS of {place} is {encodings!r}.",
            hint=f"Set SIGNATURE_ENCODINGS to a list with one or more of: {', '.join(Encoding)}.",
        )
    page_size = values.get("LIST_PAGE_SIZE", 100)
    if not isinstance(page_size, int) or not 2 <= page_size <= 1000:
        yield Problem(
            id="checkout_integration.E004",
            message=f"LIST_PAGE_SIZE of {place} is {page_size!r}.",
            hint="Set LIST_PAGE_SIZE to a whole number from 2 to 1000 (chained paging needs two rows a page).",
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
        if callable(source):
            continue  # asked at each use; the verification itself refuses an empty secret
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
    return {
        each
        for each in (own.get("SECRET_KEY"), *(own.get("PREVIOUS_SECRET_KEYS") or ()))
        if isinstance(each, str)
    }


def _addresses(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    loopback_allowed = values.get("ALLOW_HTTP_LOOPBACK", False)
    for name in URLS:
        address = values.get(name)
        if not address and name not in REQUIRED_URLS:
            continue
        if name in values and not _is_secure(address, loopback_allowed=loopback_allowed):
            yield Problem(
                id="checkout_integration.E007",
                message=f"{name} of {place} is not an https:// address.",
                hint=f"Set {name} to an https:// address. (http:// is for a sandbox on this machine only, "
                "with ALLOW_HTTP_LOOPBACK = True.)",
            )


def _is_secure(address: object, *, loopback_allowed: bool) -> bool:
    """All requests go over HTTPS (AUT-01); a sandbox on the loopback may be allowed without."""
    try:
        parts = urlsplit(address) if isinstance(address, str) else None
        host = parts.hostname if parts else None
    except ValueError:
        return False
    if not parts or not host or parts.username or parts.password:
        return False
    return parts.scheme == "https" or (loopback_allowed and parts.scheme == "http" and host in LOOPBACK)


def _hooks(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    path = values.get("HOOKS")
    if path is None:
        return
    try:
        found = import_string(path) if isinstance(path, str) else None
    except ImportError as error:
        yield Problem(
            id="checkout_integration.E008",
            message=f"HOOKS of {place} is {path!r}, which cannot be imported: {error}.",
            hint="Set HOOKS to the dotted path of a subclass of checkout_integration.hooks.Hooks.",
        )
        return
    if not isinstance(found, type):
        yield Problem(
            id="checkout_integration.E008",
            message=f"HOOKS of {place} is {path!r}, which is not a class.",
            hint="Set HOOKS to the dotted path of a subclass of checkout_integration.hooks.Hooks.",
        )
