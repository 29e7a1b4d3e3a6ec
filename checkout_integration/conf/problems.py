"""The problems of the settings as they are written: each names the setting and how to correct it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from checkout_integration.conf.project import AppSettings, Project
from checkout_integration.conf.rules import RULES
from checkout_integration.protocol.address import https_problem
from checkout_integration.protocol.vocabulary import SANDBOX_SECRET_PREFIX

SETTING = "CHECKOUT_INTEGRATION"
SHORTEST_SECRET = 16


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of the setting: a stable id, a message, and how to correct it."""

    id: str
    message: str
    hint: str


APP_NAMES = frozenset(each.name.upper() for each in fields(AppSettings))
PROJECT_NAMES = frozenset(each.name.upper() for each in fields(Project)) - {"ALIAS"}
OWN_NAMES = frozenset({"PROJECT_ID", "SECRET_KEY", "PREVIOUS_SECRET_KEYS", "OWNERSHIP_TOKENS"})
"""Names that only a project can set. All other names of a project can also be set next to PROJECTS, for all projects."""
REQUIRED_URLS = ("BASE_URL", "CHECKOUT_URL")
EXTENDED_URLS = (*REQUIRED_URLS, "ORDER_FORM_URL", "LIST_URL")
"""Addresses to which a path is appended."""
URLS = (*EXTENDED_URLS, "CLIENT_SCRIPT_URL")
MAIL_ADMINS = "mail_admins"
ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
TOKEN = re.compile(r"[!-~]+", re.ASCII)
"""The rule for a token in a header: printable, without blanks."""
ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")
"""The rule for an alias: it is a part of the webhook's address, and a column has 64 characters for it."""


def problems(raw: object) -> Iterator[Problem]:
    """Yield all problems of the setting as written, each with the name of the setting and its correction."""
    if why := no_projects(raw):
        yield Problem(
            id="checkout_integration.E001",
            message=why,
            hint=f'Set {SETTING} = {{"PROJECTS": {{"default": {{"PROJECT_ID": …, "SECRET_KEY": …}}}}, …}}.',
        )
        return
    assert isinstance(raw, Mapping)
    shared = {name: value for name, value in raw.items() if name != "PROJECTS"}
    yield from _unknown(shared, APP_NAMES | (PROJECT_NAMES - OWN_NAMES), SETTING)
    yield from _rule_problems(shared, SETTING)
    yield from _alerts(shared.get("ALERTS", ""))
    yield from _health_token(shared.get("HEALTH_TOKEN", ""), raw["PROJECTS"])
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
        yield from _rule_problems(own, place)
        yield from _project_problems(shared | dict(own), place)
    yield from _shared_secrets(raw["PROJECTS"])
    yield from _ownership_tokens(raw["PROJECTS"])


def no_projects(raw: object) -> str:
    """Return why the setting has no projects that could be read; "" if it has some."""
    projects = raw.get("PROJECTS") if isinstance(raw, Mapping) else None
    if projects and not isinstance(projects, Mapping):
        return f"PROJECTS of {SETTING} is a {type(projects).__name__} and no mapping. It is read once, when a process starts."
    return "" if projects else f"{SETTING} has no PROJECTS."


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
    yield from _http_session(values, place)


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


def _rule_problems(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for name, rule in RULES.items():
        if name in values and not rule.is_valid(values[name]):
            yield Problem(
                id="checkout_integration.E004",
                message=f"{name} of {place} is {values[name]!r}.",
                hint=f"Set {name} to {rule.hint}.",
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
        if not callable(source):  # a callable is called at each use, and checked by `secret_problems`
            yield from _secret(name, source, place)


def _secret(name: str, source: object, place: str) -> Iterator[Problem]:
    """Yield the problems of a secret, without showing it."""
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
        # The key is part of what is signed (AUT-04), and a header loses the blanks (AUT-02): never corrected silently.
        yield Problem(
            id="checkout_integration.E005",
            message=f"{name} of {place} begins or ends with a blank.",
            hint=f"Copy {name} from the project's webhooks page again, without the blank.",
        )


def secret_problems(project: Project) -> Iterator[Problem]:
    """Yield the problems of a project's secrets as they are now. Secrets that are callables are called."""
    place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
    names = ("SECRET_KEY", *("PREVIOUS_SECRET_KEYS" for _ in project.previous_secret_keys))
    try:
        for name, secret in zip(names, project.secrets, strict=True):
            yield from _secret(name, secret.reveal(), place)
    except Exception as error:  # noqa: BLE001  # a callable of the shop's, which may ask another service
        yield Problem(
            id="checkout_integration.E005",
            message=f"A secret of {place} could not be read: {type(error).__name__}.",
            hint="Make the callables in SECRET_KEY and PREVIOUS_SECRET_KEYS return text where this runs, too.",
        )


def _health_token(source: object, projects: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of HEALTH_TOKEN, without showing it. A callable is checked by `health_token_problems`."""
    if callable(source) or source == "":
        return
    if not _is_token(source):
        yield _bad_token("HEALTH_TOKEN", SETTING, "E015")
    elif any(source in _texts(own) for own in projects.values()):
        yield Problem(
            id="checkout_integration.E015",
            message=f"HEALTH_TOKEN of {SETTING} is also a project's secret key.",
            hint="Give monitors a token of their own: with a project's key they could sign payments.",
        )


def health_token_problems(app: AppSettings) -> Iterator[Problem]:
    """Yield the problems of HEALTH_TOKEN as it is now. A callable is called."""
    try:
        secret = app.health_secret
        if secret is not None and not _is_token(secret.reveal()):
            yield _bad_token("HEALTH_TOKEN", SETTING, "E015")
    except Exception as error:  # noqa: BLE001  # a callable of the shop's, which may ask another service
        yield Problem(
            id="checkout_integration.E015",
            message=f"HEALTH_TOKEN of {SETTING} could not be read: {type(error).__name__}.",
            hint="Make the callable in HEALTH_TOKEN return text where this runs, too.",
        )


def _is_token(source: object) -> bool:
    is_text = isinstance(source, str) and len(source) >= SHORTEST_SECRET
    return is_text and bool(TOKEN.fullmatch(str(source)))


def _bad_token(name: str, place: str, id_: str) -> Problem:
    return Problem(
        id=f"checkout_integration.{id_}",
        message=f"{name.replace('each', 'One')} of {place} is shorter than {SHORTEST_SECRET} characters, or a header cannot "
        "carry it.",
        hint=f"Set {name} to 16 or more printable ASCII characters without blanks, or to a callable that returns them.",
    )


def _ownership_tokens(projects: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of OWNERSHIP_TOKENS, without showing one. Callables are checked by `ownership_token_problems`."""
    keys = set[str]().union(*map(_texts, projects.values()))
    owners: dict[str, str] = {}
    for alias, own in projects.items():
        place = f'{SETTING}["PROJECTS"][{alias!r}]'
        tokens = own.get("OWNERSHIP_TOKENS", ()) if isinstance(own, Mapping) else ()
        if not isinstance(tokens, (list, tuple)):
            yield Problem(
                id="checkout_integration.E022",
                message=f"OWNERSHIP_TOKENS of {place} is not a list.",
                hint="Set OWNERSHIP_TOKENS to a list of texts or callables.",
            )
            continue
        for token in tokens:
            if callable(token):
                continue
            if not _is_token(token):
                yield _bad_token("each of OWNERSHIP_TOKENS", place, "E022")
            elif token in keys or owners.setdefault(token, alias) != alias:
                yield Problem(
                    id="checkout_integration.E022",
                    message=f"A token of OWNERSHIP_TOKENS of {place} is also a secret key, or another project's token.",
                    hint="Give the game servers of each project a token of their own: only it says whose they are.",
                )


def ownership_token_problems(project: Project) -> Iterator[Problem]:
    """Yield the problems of a project's OWNERSHIP_TOKENS as they are now. Callables are called."""
    place = f'{SETTING}["PROJECTS"][{project.alias!r}]'
    try:
        if not all(_is_token(token.reveal()) for token in project.ownership_secrets):
            yield _bad_token("each of OWNERSHIP_TOKENS", place, "E022")
    except Exception as error:  # noqa: BLE001  # a callable of the shop's, which may ask another service
        yield Problem(
            id="checkout_integration.E022",
            message=f"OWNERSHIP_TOKENS of {place} could not be read: {type(error).__name__}.",
            hint="Make the callables in OWNERSHIP_TOKENS return text where this runs, too.",
        )


def _shared_secrets(projects: Mapping[str, Any]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for alias, own in projects.items():
        for secret in _texts(own):
            if owners.setdefault(secret, alias) != alias:
                yield Problem(
                    id="checkout_integration.E006",
                    message=f"Projects {owners[secret]!r} and {alias!r} of {SETTING} share a SECRET_KEY.",
                    hint="Give each project its own SECRET_KEY: only the signature says whose notification it is.",
                )


def _texts(own: object) -> set[str]:
    if not isinstance(own, Mapping):
        return set()
    previous = own.get("PREVIOUS_SECRET_KEYS")
    sources = (own.get("SECRET_KEY"), *(previous if isinstance(previous, (list, tuple)) else ()))
    return {each for each in sources if isinstance(each, str)}


def _addresses(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    loopback_allowed = values.get("ALLOW_HTTP_LOOPBACK", False)
    hosts = http_hosts(values)
    for name in URLS:
        optional = name not in REQUIRED_URLS
        if name not in values or (optional and values[name] == ""):
            continue
        address = values[name]
        if why := https_problem(address, loopback=loopback_allowed is True, hosts=hosts):
            yield Problem(
                id="checkout_integration.E007",
                message=f"{name} of {place} cannot be used: {why}.",
                hint=f"Set {name} to an https:// address{', or to an empty text' if optional else ''}. "
                "(http:// is for a sandbox only: on this machine with ALLOW_HTTP_LOOPBACK = True, on a host that "
                f"ALLOW_HTTP_HOSTS names, while DEBUG is on or SECRET_KEY begins with {SANDBOX_SECRET_PREFIX}.)",
            )
        elif name in EXTENDED_URLS and not {"?", "#"}.isdisjoint(str(address)):
            yield Problem(
                id="checkout_integration.E007",
                message=f"{name} of {place} has a query or a fragment.",
                hint=f"Set {name} to the address without ? and #: a path is appended to it.",
            )


def http_hosts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts of ALLOW_HTTP_HOSTS; none where a real key could be sent to them in plain text."""
    key, hosts = values.get("SECRET_KEY"), values.get("ALLOW_HTTP_HOSTS", ())
    is_sandboxed = isinstance(key, str) and key.startswith(SANDBOX_SECRET_PREFIX)
    is_allowed = RULES["ALLOW_HTTP_HOSTS"].is_valid(hosts) and (is_sandboxed or settings.DEBUG)
    return tuple(hosts) if is_allowed else ()


def _hooks(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    if "HOOKS" in values:
        fault = _import_fault(values["HOOKS"], lambda found: isinstance(found, type), "a class")
        if fault:
            yield bad_hooks(f"HOOKS of {place} is {values['HOOKS']!r}, which {fault}.")


def _http_session(values: Mapping[str, Any], place: str) -> Iterator[Problem]:
    path = values.get("HTTP_SESSION", "")
    fault = "" if path == "" else _import_fault(path, callable, "a function")
    if fault:
        yield Problem(
            id="checkout_integration.E014",
            message=f"HTTP_SESSION of {place} is {path!r}, which {fault}.",
            hint="Set HTTP_SESSION to the dotted path of a function that returns a requests.Session, or leave it out.",
        )


def _alerts(value: object) -> Iterator[Problem]:
    fault = ""
    if isinstance(value, str) and value not in ("", MAIL_ADMINS):
        fault = _import_fault(value, callable, "a function")
    elif not isinstance(value, str) and not callable(value) and not _are_addresses(value):
        fault = "is neither text, nor a list of addresses, nor a function"
    if fault:
        yield Problem(
            id="checkout_integration.E021",
            message=f"ALERTS of {SETTING} is {value!r}, which {fault}: nobody would be alerted.",
            hint=f'Set ALERTS to "{MAIL_ADMINS}", to a list of mail addresses such as ["ops@shop.example"], or to the '
            "dotted path of a function that is called with a subject and a text; or leave it out.",
        )


def _are_addresses(value: object) -> bool:
    is_list = isinstance(value, (list, tuple)) and bool(value)
    return is_list and all(isinstance(each, str) and ADDRESS.fullmatch(each) for each in value)  # type: ignore[attr-defined]


def _import_fault(path: object, is_right: Callable[[object], bool], expected: str) -> str:
    """Return the problem of a dotted path; "" if it leads to the expected object."""
    try:
        found = import_string(path) if isinstance(path, str) else None
    except Exception as error:  # noqa: BLE001  # the shop's module may raise anything when it is imported
        return f"cannot be imported: {error if isinstance(error, ImportError) else type(error).__name__}"
    return "" if is_right(found) else f"is not {expected}"


def bad_hooks(message: str) -> Problem:
    """Return the problem that HOOKS names something else than the shop's class of hooks."""
    return Problem(
        id="checkout_integration.E008",
        message=message,
        hint="Set HOOKS to the dotted path of a subclass of checkout_integration.hooks.Hooks.",
    )
