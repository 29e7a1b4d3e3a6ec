"""docs/containers.md: the processes of its two files, started on this machine with its variables and a PostgreSQL."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.test import RequestFactory

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from tests.support.documents import ROOT, block, name_of
from tests.support.paths.blank_project import PROJECT_ID, SECRET, BlankProject, await_answer, free_port
from tests.support.paths.merchant import Merchant, await_note
from tests.support.paths.new_database import new_database

SETTINGS = block("docs/containers.md", "# mysite/settings.py, in containers")
VARIABLES = dict(line.split("=", 1) for line in block("docs/containers.md", "# shop.env").splitlines()[1:])
URLS = """
from django.urls import include, path
from mysite.urls import urlpatterns as own

urlpatterns = [path("", include("mysite.probes")), *own]
"""


@dataclass(frozen=True, kw_only=True)
class Container:
    """What a file says of a container: its command, and its probes as path and header."""

    command: str
    probes: dict[str, Mapping[str, str]] = field(default_factory=dict)


def of_compose() -> dict[str, Container]:
    """Return the shop's containers of compose.yaml."""
    found = {}
    for name, service in yaml.safe_load(block("docs/containers.md", "# compose.yaml"))["services"].items():
        if service.get("build") != ".":
            continue
        assert service["env_file"] == "shop.env"
        probe = " ".join(service.get("healthcheck", {"test": ()})["test"])
        hosts = dict(re.findall(r"127\.0\.0\.1:8000(/\w+/)', headers=\{'Host': '([\w.]+)'\}", probe))
        found[name] = Container(
            command=service["command"], probes={path: {"Host": host} for path, host in hosts.items()}
        )
    return found


def of_kubernetes() -> dict[str, Container]:
    """Return the containers of both files for Kubernetes."""
    found = {}
    for document in [
        *yaml.safe_load_all(block("docs/containers.md", "# migrate.yaml")),
        *yaml.safe_load_all(block("docs/containers.md", "# shop.yaml")),
    ]:
        if document["kind"] == "Service":
            continue
        (container,) = document["spec"]["template"]["spec"]["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "shop"}}]
        probes = [probe["httpGet"] for key, probe in container.items() if key.endswith("Probe")]
        assert {probe["port"] for probe in probes} <= {8000}
        found[container["name"]] = Container(
            command=shlex.join(container["args"]),
            probes={
                probe["path"]: {each["name"]: each["value"] for each in probe["httpHeaders"]}
                for probe in probes
            },
        )
    return found


FILES = {"compose": of_compose, "kubernetes": of_kubernetes}


@pytest.mark.parametrize("file", FILES)
def test_the_containers_are_the_processes_of_the_page(file: str) -> None:
    """The same three commands in both files, and probes with a Host that the settings allow."""
    containers = FILES[file]()
    assert {name: each.command for name, each in containers.items()} == {
        name: each.command for name, each in of_compose().items()
    }
    assert set(containers) == {"migrate", "web", "worker"}
    assert {header["Host"] for header in containers["web"].probes.values()} == {VARIABLES["ALLOWED_HOSTS"]}


@pytest.mark.parametrize("file", FILES)
def test_probes_are_not_led_to_https(file: str, rf: RequestFactory, settings: Any) -> None:
    """Where everybody else is: who follows there finds nothing, and who does not takes a redirect for a healthy answer."""
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = names_of(SETTINGS)["SECURE_REDIRECT_EXEMPT"]
    led: Any = SecurityMiddleware(lambda request: HttpResponse()).process_request
    probes = FILES[file]()["web"].probes
    assert probes and {led(rf.get(path)) for path in probes} == {None}
    assert led(rf.get("/"))["Location"].startswith("https://")


def test_the_variables_are_those_that_the_settings_read() -> None:
    """No more and no fewer, with those of the README's settings."""
    read = set(
        re.findall(r'os\.environ\["(\w+)"\]', SETTINGS + block("docs/quickstart.md", "# mysite/settings.py"))
    )
    assert set(VARIABLES) == read | {"DJANGO_SETTINGS_MODULE"}


def test_what_compose_waits_for_is_there() -> None:
    """Each name is that of a service, each volume is declared, and the database is the one of the variables."""
    document = yaml.safe_load(block("docs/containers.md", "# compose.yaml"))
    services = document["services"]
    waited = {name for each in services.values() for name in each.get("depends_on", {})}
    assert waited == {"database", "migrate"} and waited <= set(services)
    assert {volume.partition(":")[0] for volume in services["database"]["volumes"]} == set(
        document["volumes"]
    )
    assert VARIABLES["DATABASE_HOST"] in services
    assert services["database"]["environment"]["POSTGRES_PASSWORD"] == VARIABLES["DATABASE_PASSWORD"]
    assert {"USER": "shop", "NAME": "shop"}.items() <= database_of(SETTINGS).items()


def names_of(settings: str) -> dict[str, Any]:
    """Return what the page's settings set."""
    names: dict[str, Any] = {"CHECKOUT_INTEGRATION": {}}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        exec(settings, names)
    return names


def database_of(settings: str) -> dict[str, Any]:
    """Return the database that the page's settings name."""
    return dict(names_of(settings)["DATABASES"]["default"])


def test_the_image_starts_what_the_commands_name() -> None:
    """The Dockerfile copies the project to where the commands find ``manage.py``, and runs as nobody special."""
    lines = block("docs/containers.md", "# Dockerfile").splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["FROM", "WORKDIR", "COPY", "RUN", "COPY", "USER"]
    assert name_of(block("docs/containers.md", "# Dockerfile")) == "# Dockerfile"


@dataclass(frozen=True, kw_only=True)
class Host:
    """This machine in place of the containers: the project, its variables, and the containers of a file."""

    project: BlankProject
    containers: dict[str, Container]
    variables: dict[str, str]

    @contextmanager
    def web(self, **variables: str) -> Iterator[str]:
        """Start the web container's process on a free port; gives its address."""
        port = free_port()
        command = self.containers["web"].command.replace("0.0.0.0:8000", f"127.0.0.1:{port}")
        with self.project.running(f"$ {command}", **{**self.variables, **variables}):
            await_answer(f"http://127.0.0.1:{port}/alive/")
            yield f"http://127.0.0.1:{port}"

    def probes(self, address: str) -> dict[str, int]:
        """Return what each probe of the web container is answered."""
        return {
            path: requests.get(address + path, headers=headers, timeout=30).status_code
            for path, headers in self.containers["web"].probes.items()
        }


@pytest.fixture
def sandbox() -> Iterator[tuple[Sandbox, str]]:
    """Run the service beside the containers; with its address."""
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        yield sandbox, server.url


@pytest.fixture(params=FILES)
def host(request: pytest.FixtureRequest, sandbox: tuple[Sandbox, str], tmp_path: Path) -> Iterator[Host]:
    """The shop as the page has it, on this machine."""
    project = BlankProject.write(tmp_path / "project", Path(sys.executable), sandbox[1])
    project.take_notes()
    with new_database() as place:
        settings = SETTINGS.replace('"shop"', f'"{place["NAME"]}"', 1).replace('"shop"', f'"{place["USER"]}"')
        for name, text in {
            "mysite/probes.py": block("docs/containers.md", "# mysite/probes.py"),
            "mysite/probed_urls.py": URLS,
            "mysite/with_containers.py": "from mysite.settings import *\n\n"
            f'{settings}\nROOT_URLCONF = "mysite.probed_urls"\n',
        }.items():
            (project.folder / name).write_text(text)
        own = {name: value for name, value in VARIABLES.items() if not name.startswith("CHECKOUT_")}
        given = {key: value for key, value in place.items() if key.startswith("DATABASE_")}
        variables = {
            **own,
            **given,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{project.folder}",
            "DJANGO_SETTINGS_MODULE": "mysite.with_containers",
        }
        project.run("manage.py", "makemigrations", "shop", **variables)
        yield Host(project=project, containers=FILES[request.param](), variables=variables)


@pytest.mark.slow
@pytest.mark.postgres
def test_the_processes_sell_and_deliver(host: Host, sandbox: tuple[Sandbox, str]) -> None:
    """Tables are made, the probes are well, a payment is delivered; without a database the shop is alive and not ready."""
    project, variables = host.project, host.variables
    project.follow(f"$ {host.containers['migrate'].command}", **variables)
    service, _ = sandbox
    worker = host.containers["worker"].command
    with host.web() as address, project.running(f"$ {worker}", **variables):
        assert set(host.probes(address).values()) == {200}
        service.projects.update(PROJECT_ID, webhook_url=f"{address}/checkout/webhook/")
        settings = {"settings": "containers"}
        shop = Merchant(project=project, sandbox=service)
        assert (
            requests.get(f"{address}/ready/", timeout=30).status_code == 400
        )  # not by the host's own address
        order_id = project.manage("shell", "-c", _SELL, **settings, **variables).split()[-1]
        assert shop.sandbox.payments.pay(order_id) == "paid"
        await_note(project, f"checkout_paid {order_id}")
    with host.web(DATABASE_PORT=str(free_port())) as address:
        found = host.probes(address)
        assert found.pop("/ready/") == 500
        assert set(found.values()) <= {200}


_SELL = """
from decimal import Decimal
from checkout_integration import flows
print(flows.create_checkout(amount=Decimal("9.99"), currency="USD").order_id)
"""
