"""The tutorial in a blank project, with the built wheel: its shop sells, gives and takes back, and its tests pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from checkout_integration.sandbox import Sandbox, SandboxProject, SandboxServer
from tests.support.documents import block, template
from tests.support.paths.blank_project import PROJECT_ID, SECRET, BlankProject
from tests.support.paths.merchant import Merchant, await_that, log_in

pytestmark = pytest.mark.slow

FILES = {
    "mysite/urls.py": block("docs/tutorial.md", "# mysite/urls.py"),
    "mysite/production.py": block("docs/tutorial.md", "# mysite/production.py"),
    "shop/admin.py": block("docs/tutorial.md", "# shop/admin.py"),
    "shop/apps.py": block("docs/quickstart.md", "# shop/apps.py"),
    "shop/models.py": block("docs/tutorial.md", "# shop/models.py"),
    "shop/receivers.py": block("docs/tutorial.md", "# shop/receivers.py"),
    "shop/templates/shop/posters.html": template("docs/tutorial.md", "shop/templates/shop/posters.html"),
    "shop/test_shop.py": block("docs/tutorial.md", "# shop/test_shop.py"),
    "shop/views.py": block("docs/tutorial.md", "# shop/views.py"),
}
ON_A_SERVER = {
    "DJANGO_SECRET_KEY": "".join(map(chr, range(40, 100))),
    "SHOP_HOST": "posters.example.com",
    "DATABASE_HOST": "db.example.com",
    "DATABASE_NAME": "posters",
    "DATABASE_USER": "posters",
    "DATABASE_PASSWORD": "of the database",
    "CHECKOUT_PROJECT_ID": "posters-live",
    "CHECKOUT_SECRET_KEY": "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d",
    **dict.fromkeys(
        ["CHECKOUT_BASE_URL", "CHECKOUT_URL", "CHECKOUT_FORM_URL"], "https://checkout.example.com"
    ),
}
BUTTON = re.compile(r'action="(/buy/\d+/)".*?name="csrfmiddlewaretoken" value="(\w+)"', re.DOTALL)


@pytest.fixture(scope="module")
def merchant(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Merchant]:
    """The tutorial's shop, with its tables and its first poster."""
    folder = tmp_path_factory.mktemp("tutorial") / "project"
    known = SandboxProject(project_id=PROJECT_ID, secret_key=SECRET)
    with Sandbox([known]) as sandbox, SandboxServer(sandbox) as server:
        project = BlankProject.begin(folder, python, server.url)
        project.write_texts(FILES)
        for command in block("docs/tutorial.md", "$ python manage.py makemigrations shop").splitlines():
            project.follow(command)
        yield Merchant(project=project, sandbox=sandbox)


def see(shop: str, session: requests.Session, words: str) -> Callable[[], bool]:
    """Return whether the shop's page has these words."""
    return lambda: words in session.get(f"{shop}/", timeout=30).text


def test_the_shop_sells_gives_and_takes_back(merchant: Merchant) -> None:
    """In the reader's order: press "Buy", pay and refund from the third terminal, buy again."""
    pay = block("docs/tutorial.md", "$ python manage.py checkout_sandbox do pay last")
    refund = block("docs/tutorial.md", "$ python manage.py checkout_sandbox do refund last")
    with merchant.served() as shop, requests.Session() as session:
        log_in(merchant.project, shop, session, "robin")
        page = session.get(f"{shop}/", timeout=30).text
        assert "Lighthouse, 14.90 EUR" in page
        action, token = BUTTON.search(page).groups()  # type: ignore[union-attr]
        form = {"csrfmiddlewaretoken": token}
        answer = session.post(f"{shop}{action}", form, timeout=30, allow_redirects=False)
        assert requests.get(answer.headers["Location"], timeout=30).status_code == 200
        merchant.project.follow(pay)
        await_that(see(shop, session, "Yours"), lambda: "no poster was given")
        assert "Paid" in session.get(f"{shop}/purchases/", timeout=30).text
        merchant.project.follow(refund)
        await_that(see(shop, session, "<button>Buy</button>"), lambda: "the poster was not taken back")


def test_its_tests_pass(merchant: Merchant) -> None:
    """As the reader runs them."""
    said = merchant.project.follow(
        block("docs/tutorial.md", "$ pytest --ds mysite.settings"), "-p", "no:cacheprovider"
    )
    assert "3 passed" in said, said


def test_the_settings_for_a_server_have_nothing_to_mend(merchant: Merchant) -> None:
    """Of the app's checks; with the key of the sandbox they are an error."""
    command = block("docs/tutorial.md", "$ python manage.py check --deploy --settings mysite.production")
    said = merchant.project.follow(command, **ON_A_SERVER)
    assert "checkout_integration." not in said, said
    refused = merchant.project.refuse(command, **{**ON_A_SERVER, "CHECKOUT_SECRET_KEY": SECRET})
    assert "checkout_integration.E010" in refused, refused
