"""What every test shares: the product's own pytest plug-in, loaded once, and the markers that ask for real servers."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.support import browser, scale, services

if TYPE_CHECKING:
    from checkout_integration.sandbox import Sandbox

PLUGIN = "checkout_integration.testing.plugin"
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "django_db_serialized_rollback"}
SETTINGS = pytest.StashKey[Any]()
SANDBOX_FIXTURES = {"checkout_sandbox", "service", "field", "spec"}

# An installed wheel brings the plug-in by its entry point; to register it a second time would be an error.
_installed = {entry.value for entry in entry_points(group="pytest11")}
pytest_plugins = [
    "tests.stress.leaks.plugin",
    "tests.support.figures",
    *([PLUGIN] if find_spec(PLUGIN) and PLUGIN not in _installed else []),
]

# A slow machine is no defect: only what a test sees may fail it.
hypothesis.settings.register_profile(
    "checkout", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("checkout"), max_examples=25)
hypothesis.settings.load_profile("quick" if scale.QUICK else "checkout")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which `python3 -m tests` repeats only the tests that use the database."""
    parser.addoption("--only-database", action="store_true", help="run only the tests that use the database")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use the database, and skip those whose server is not here."""
    for item in items:
        if uses_database(item):
            item.add_marker(pytest.mark.database)
        _skip_without_server(item)
    if config.getoption("--only-database"):
        others = [item for item in items if not item.get_closest_marker("database")]
        items[:] = [item for item in items if item.get_closest_marker("database")]
        config.hook.pytest_deselected(items=others)
    if spared := scale.left_out(items, [item for item in items if _is_dear(item)]):
        config.hook.pytest_deselected(items=[item for item in items if item in spared])
        items[:] = [item for item in items if item not in spared]


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what lives until the end of the run: modules and tests."""
    gc.freeze()


def _is_dear(item: pytest.Item) -> bool:
    """Return whether a case needs a database or a sandbox; tables of pure rules cost little."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return not item.get_closest_marker("slow") and (uses_database(item) or bool(SANDBOX_FIXTURES & fixtures))


def uses_database(item: pytest.Item) -> bool:
    """Return whether a test uses Django's test database, by its mark or by a fixture."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & DATABASE_FIXTURES)


def _skip_without_server(item: pytest.Item) -> None:
    database = os.environ.get("CHECKOUT_TEST_DATABASE", "sqlite")
    required = [kind for kind in ("postgres", "mariadb") if item.get_closest_marker(kind)]
    if required and database not in required:
        # Not a missing server: the run on that database has this test.
        item.add_marker(pytest.mark.skip(reason=f"runs on {' and '.join(required)} only"))
    for broker, variable in (("redis", services.REDIS), ("rabbitmq", services.RABBITMQ)):
        uses = item.get_closest_marker(broker) or f"{broker}_url" in getattr(item, "fixturenames", ())
        if uses and not os.environ.get(variable) and not services.required():
            item.add_marker(pytest.mark.skip(reason=f"needs {broker} ({variable})"))
    if item.get_closest_marker("browser") and browser.missing() and not services.required():
        item.add_marker(pytest.mark.skip(reason=browser.missing()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that needs a browser where there is none and services are required: before its fixtures are looked for."""
    if item.get_closest_marker("browser") and services.required() and (reason := browser.missing()):
        pytest.fail(f"{reason} ({services.REQUIRED})", pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fail a test that leaves changed settings: the next one would meet them, in an order that chance chooses.

    `settings.NAME = …` within `override_settings` does, where the fixture `settings` was there before it.
    """
    from django.conf import settings

    lazy: Any = settings  # Django's types hide what it wraps
    before = lazy._wrapped
    item.stash[SETTINGS] = before
    result = yield
    lazy._wrapped = before
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Compare after the last fixture has ended."""
    from django.conf import settings

    yield
    lazy: Any = settings
    if lazy._wrapped is not item.stash[SETTINGS]:
        pytest.fail("the test leaves changed settings", pytrace=False)


@pytest.fixture(autouse=True)
def _time_travels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process's clock count for the database's: tests travel in it."""
    if uses_database(request.node):
        from checkout_integration.flows.database import DatabaseClock

        monkeypatch.setattr(DatabaseClock, "follows_host", True)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """Give the address of the real Redis of this run; for tests marked `redis`."""
    url = os.environ.get(services.REDIS)
    assert url, f"there is no Redis: set {services.REDIS}, or mark the test `redis`"
    return url


@pytest.fixture(scope="session")
def rabbitmq_url() -> str:
    """Give the address of the real RabbitMQ of this run; for tests marked `rabbitmq`."""
    url = os.environ.get(services.RABBITMQ)
    assert url, f"there is no RabbitMQ: set {services.RABBITMQ}, or mark the test `rabbitmq`"
    return url


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Let pytest-playwright's `page` drive this machine's Chromium, silent but for loopback; for tests marked `browser`."""
    with pytest.MonkeyPatch.context() as patch:
        # Playwright keeps an event loop in the test's thread, where Django would refuse each query as unsafe.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield {**browser_type_launch_args, "executable_path": services.chromium(), "args": browser.ARGUMENTS}


@pytest.fixture(autouse=True)
def no_recording_of_receivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin as a process of whose receivers no other process has any; it records none.

    `tests.support.flows.releases` has what tests of several releases need.
    """
    from checkout_integration.flows.outbox import receivers

    monkeypatch.setattr(receivers, "this_process", receivers.ThisProcess(runs_receivers=True))
    monkeypatch.setattr(receivers, "record_now", lambda: None)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client repeat a failed request at once."""
    from checkout_integration.client import retry

    monkeypatch.setattr(retry, "FIRST_PAUSE_SECONDS", 0)


@pytest.fixture
def checkout_sandbox(checkout_sandbox: Sandbox, no_pauses: None) -> Iterator[Sandbox]:
    """The plug-in's sandbox, failing the test when it sent anything that openapi.yaml does not allow."""
    from tests.support.sandbox.openapi_watching import watched

    with watched(checkout_sandbox):
        yield checkout_sandbox
