"""Every public name stands on a page, as it is in the code, and no page has a name that is gone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import checkout_integration
from checkout_integration import display, errors, flows, hooks, models, sandbox, signals
from checkout_integration.admin.site.reasons import REASONS
from checkout_integration.conf.problems import APP_NAMES, PROJECT_NAMES
from checkout_integration.models import Checkout, Notification, OutboxMessage, ReceiverRun, SyncRun
from checkout_integration.policy.verdict import Reason, VerdictStatus
from checkout_integration.signals import arguments
from checkout_integration.templatetags.checkout import register
from checkout_integration.testing import (
    assertions,
    cases,
    delivery,
    factories,
    interruption,
    orderings,
    payloads,
    service,
)
from tests.reference.calls import STAFF, arguments_of
from tests.reference.docstrings import attribute_texts
from tests.reference.kit import fixtures
from tests.reference.pages import FOLDER, SECTIONS, pages, written
from tests.reference.surroundings import COLUMNS, COMMANDS, meaning_of, parser_of
from tests.reference.words import STATES
from tests.support.documents import PAGES, ROOT

PACKAGE = Path(checkout_integration.__file__).parent
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
EXAMPLE = re.compile(r"```(?:python|console|html)\n(.*?)```", re.DOTALL)
KIT = (factories, payloads, assertions, cases, delivery, interruption, orderings, service)
LINK = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")


def text_of(page: str) -> str:
    """Return the text of a page of the reference."""
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def public_names() -> Iterator[tuple[str, str]]:
    """Yield each public name with the page that it stands on."""
    for name, signal in signals.SIGNALS.items():
        yield name, "signals"
        yield from ((each, "signals") for each in vars(arguments)[arguments_of(signal)].__required_keys__)
    yield from ((name, "hooks") for name in vars(hooks.Hooks) if not name.startswith("_"))
    yield from ((name, "hooks") for name in hooks.__all__)
    yield from ((name, "flows") for name in flows.__all__ if inspect.isroutine(getattr(flows, name)))
    yield from ((name, "errors") for name in errors.__all__)
    yield from ((name, "operations") for room in rooms_of_staff() for name in room.__all__)
    yield from ((name, "template-tags") for name in (*register.tags, *display.__all__))
    yield from ((name, "testing") for name in fixtures())
    yield from ((name, "testing") for module in KIT for name in module.__all__)
    yield from ((name, "sandbox") for name in sandbox.__all__)
    yield from ((f"checkout_{name}", "commands") for name in COMMANDS)
    yield from ((option, "commands") for name in COMMANDS for option in parser_of(f"checkout_{name}"))
    yield from ((name, _page_of_setting(name)) for name in APP_NAMES | PROJECT_NAMES)
    yield from ((name, "checks") for name in found_in_code(r'"checkout_integration\.([EWI]\d{3})"'))
    yield from ((name, "logging") for name in found_in_code(r'getLogger\("(checkout_integration[^"]*)"'))


def _page_of_setting(name: str) -> str:
    other = (ROOT / "docs" / "another-service.md").read_text(encoding="utf-8")
    return "../another-service" if f"| `{name}` |" in other else "../settings"


def rooms_of_staff() -> list[Any]:
    """Return the rooms of `flows` that staff, commands and monitors call."""
    return [import_module(f"checkout_integration.flows.{room}") for room in STAFF]


def types_of_staff() -> set[str]:
    """Return what their signatures name: a reader meets it as the argument or result of a call."""
    return {name for room in rooms_of_staff() for name in room.__all__ if inspect.isclass(vars(room)[name])}


def found_in_code(pattern: str) -> set[str]:
    """Return what a pattern finds in the package."""
    files = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return {name for text in files for name in re.findall(pattern, text)}


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_page_is_as_the_code_is(path: Path) -> None:
    """`python3 -m tests.reference` writes it anew."""
    text = path.read_text(encoding="utf-8")
    assert text == written(text), f"{path.name} is stale: run python3 -m tests.reference"


def test_every_part_stands_on_a_page() -> None:
    """What is made of the code is shown."""
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [name for name in SECTIONS if f"<!-- from the code: {name} -->" not in text] == []


def test_every_public_name_stands_on_its_page() -> None:
    """A name that nobody can read of might as well not exist."""
    names = set(public_names())
    assert sorted(name for name in names if f"`{name[0]}" not in text_of(name[1])) == []


def test_every_public_name_has_an_example() -> None:
    """In a block that a test executes; checks, loggers and options of commands have a row in a table instead.

    So have types that only signatures name.
    """
    blocks = "".join("".join(EXAMPLE.findall((ROOT / page).read_text(encoding="utf-8"))) for page in PAGES)
    shown = set(re.findall(r"\w+", blocks))
    names = {name for name, page in public_names() if page not in ("checks", "logging")} - types_of_staff()
    assert sorted(name for name in names - shown if not name.startswith("--") and name != "options") == []


@pytest.mark.parametrize("name", ["checks", "logging"])
def test_a_table_that_was_written_by_hand_has_no_name_that_is_gone(name: str) -> None:
    """The others are written anew."""
    table, _, _ = text_of(name).partition("## Ids, for structured logs")  # `test_logging` compares those
    assert set(ROW.findall(table)) == {each for each, page in public_names() if page == name}


def test_every_argument_is_described() -> None:
    """By the text below it."""
    described = {name.partition(".")[2] for name in attribute_texts(arguments)}
    kinds = [vars(arguments)[arguments_of(signal)] for signal in signals.SIGNALS.values()]
    assert {name for kind in kinds for name in kind.__required_keys__} == described


def test_every_column_has_a_meaning() -> None:
    """Its own, one of columns.toml, or the service's; and columns.toml names no column that is gone."""
    known = [getattr(models, name) for name in models.__all__]
    columns = [(model, each) for model in known for each in model._meta.local_fields if not each.auto_created]
    assert [f"{model.__name__}.{each.name}" for model, each in columns if not meaning_of(model, each)] == []
    own = {(model.__name__, each.name) for model, each in columns}
    shared = {("every", name) for _, name in own}
    assert {(kind, name) for kind, names in COLUMNS.items() for name in names} <= own | shared


def test_the_index_names_every_page() -> None:
    """docs/README.md leads to each of them."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    names = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [name for name in names if name != "README.md" and f"({name})" not in index] == []


def test_every_link_leads_to_a_page() -> None:
    """From page to page, within the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("a copy of the tests has not all pages")
    links = [
        (page, target)
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    ]
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def test_every_template_that_a_shop_may_override_is_listed() -> None:
    """And no other."""
    folder = PACKAGE / "templates"
    names = {str(path.relative_to(folder)) for path in folder.rglob("*.html") if "admin" not in path.parts}
    assert (
        set(re.findall(r"^\| `(checkout_integration/[^`]+)`", text_of("template-tags"), re.MULTILINE))
        == names
    )


def test_every_word_of_a_state_has_a_label() -> None:
    """The page of words is made of the labels."""
    choices = (Checkout.Status, Notification.State, OutboxMessage.State, ReceiverRun.State, SyncRun.State)
    known = {str(word) for states in STATES.values() for word in states}
    assert {value for each in (*choices, VerdictStatus) for value in each} <= known
    assert set(Reason) - {Reason.NONE} <= set(REASONS)
