"""The everyday run: which cases it has of a long table, and what is left in the tables between two tests."""

from __future__ import annotations

import re
import sys

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from tests.support import scale
from tests.support.documents import ROOT
from tests.support.scale import MOST_CASES, MOST_ON_SERVERS, left_out, sample_of
from tests.support.suite import WITHOUT_SCHEMATHESIS

USE = re.compile(r"^(import|from) schemathesis", re.MULTILINE)


def cases_of(request: pytest.FixtureRequest, **tables: int) -> list[pytest.Item]:
    """Return so many cases of each test."""
    return [
        pytest.Function.from_parent(
            request.node.parent, name=f"{name}[{number}]", callobj=test_no_test_is_left_out
        )
        for name, count in tables.items()
        for number in range(count)
    ]


def test_no_test_is_left_out(request: pytest.FixtureRequest) -> None:
    """A long table has a sample of its cases, a short one all of them."""
    sample = sample_of(cases_of(request, long=100, short=2, single=1))
    names = [case.name.partition("[")[0] for case in sample]
    assert {name: names.count(name) for name in names} == {"long": MOST_CASES, "short": 2, "single": 1}


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("database", ["sqlite", "postgres", "mariadb"])
def test_the_rest_is_what_the_everyday_run_leaves_out(
    database: str, more: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each case is in one of both runs; where `times` gives the rest more examples, all are in it."""
    cases = cases_of(request, long=100, short=2)
    monkeypatch.setenv("CHECKOUT_TEST_DATABASE", database)
    monkeypatch.setattr(scale, "ON_SERVER", database != "sqlite")
    monkeypatch.setattr(scale, "GUARANTEES", ("tests/architecture",))
    monkeypatch.setattr(
        scale, "WHOLE_ON_SERVERS", dict.fromkeys(("postgres", "mariadb"), ("tests/architecture",))
    )
    if more:
        monkeypatch.setattr(sys.modules[__name__], "times", scale.times, raising=False)
    runs = {}
    for run in (scale.EVERYDAY, scale.REST, scale.ALL):
        monkeypatch.setattr(scale, "THIS_RUN", run)
        monkeypatch.setattr(scale, "QUICK", run == scale.EVERYDAY)
        runs[run] = {case.name for case in set(cases) - left_out(cases, cases)}
    assert len(runs["everyday"]) == MOST_CASES + 2
    assert runs["all"] == {case.name for case in cases}
    everyday = set() if more or database == "mariadb" else runs["everyday"]
    assert runs["rest"] == runs["all"] - everyday


def test_a_server_has_a_sample_of_what_it_does_not_promise(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the rest only, unless the run is full: `--all` is everything."""
    cases = cases_of(request, long=100)
    monkeypatch.setattr(scale, "ON_SERVER", True)
    monkeypatch.setattr(scale, "QUICK", False)
    counts = {}
    monkeypatch.setenv("CHECKOUT_TEST_DATABASE", "mariadb")
    for run, full in [("", False), ("all", False), ("rest", False), ("rest", True)]:
        monkeypatch.setattr(scale, "THIS_RUN", run)
        monkeypatch.setattr(scale, "FULL", full)
        counts[run, full] = len(cases) - len(left_out(cases, cases))
    assert counts == {
        ("", False): 100,
        ("all", False): 100,
        ("rest", False): MOST_ON_SERVERS,
        ("rest", True): 100,
    }


def test_each_process_takes_the_same_cases(request: pytest.FixtureRequest) -> None:
    """Several processes share a run, and compare what they collected."""
    first, second = (sample_of(cases_of(request, long=100)) for _ in range(2))
    assert {case.name for case in first} == {case.name for case in second}


def test_what_needs_schemathesis_is_left_out_where_it_is_not_loaded() -> None:
    """By the folder or the file: its cases are fixtures of that plug-in."""
    left_out = [ROOT / option.removeprefix("--ignore=") for option in WITHOUT_SCHEMATHESIS]
    tests = (ROOT / "tests").rglob("test_*.py")
    users = [path for path in tests if USE.search(path.read_text(encoding="utf-8"))]
    assert users
    assert [path for path in users if not any(path.is_relative_to(each) for each in left_out)] == []


@pytest.mark.django_db(transaction=True)
def test_a_test_leaves_nothing_but_content_types_and_permissions() -> None:
    """Django would make those anew after each test, which takes longer than most tests."""
    constant = ContentType.objects.count(), Permission.objects.count()
    User.objects.create_user("ada").user_permissions.add(Permission.objects.all()[0])
    call_command("flush", interactive=False, verbosity=0)
    assert (User.objects.count(), User.user_permissions.through.objects.count()) == (0, 0)
    assert (ContentType.objects.count(), Permission.objects.count()) == constant
    assert 0 not in constant
