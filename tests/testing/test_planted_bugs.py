"""The tests of the page about the test kit pass in their shop with Django's runner, and find bugs that shops have had."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.documents import ROOT, block
from tests.support.paths.blank_project import BlankProject
from tests.support.scale import SEED, times

pytestmark = pytest.mark.slow

PAGE = "docs/reference/testing.md"
FILES: Final = {
    "models.py": block("docs/reference/testing.md", "# shop/models.py, with gems"),
    "receivers.py": block("docs/reference/testing.md", "# shop/receivers.py, with gems"),
    "views.py": block("docs/reference/testing.md", "# shop/views.py, with gems"),
    "tests.py": block("docs/reference/testing.md", "# shop/tests.py"),
    "middleware.py": "",
}
URLS = """
from django.urls import include, path

from shop.views import Thanks

urlpatterns = [
    path("thanks/<str:signed>/", Thanks.as_view(), name="thanks"),
    path("checkout/", include("checkout_integration.urls")),
]
"""
MAIL: Final = "    transaction.on_commit(mail)\n"
PAID: Final = "@checkout_paid.receiver()"
REMOVE: Final = FILES["receivers.py"][FILES["receivers.py"].index("@checkout_reversed") :]
AT_SUCCESS: Final = """
from checkout_integration.signals import payment_success, payment_refund, payment_chargeback


@payment_success.receiver()
def add(order: Any, checkout: Checkout | None, **kwargs: Any) -> None:
    if {condition}:
        Gems.objects.create(account=checkout.owner, grant_key=order.pk)


def remove(order: Any, partial: bool = False, **kwargs: Any) -> None:
    if not partial:
        Gems.objects.filter(grant_key=order.pk).delete()


payment_refund.connect(remove)
payment_chargeback.connect(remove)
"""
RECEIVERS: Final = FILES["receivers.py"].partition("\n\n\n")[0]
AT_WEBHOOK: Final = """
import json
from uuid import uuid4
from checkout_integration.models import Checkout


def granting(get_response):
    from shop.models import Gems

    def serve(request):
        document = json.loads(request.body) if request.path.startswith("/checkout/webhook/") else {}
        response = get_response(request)
        if document.get("event") == "payment.success" and response.status_code == 200:
            reference = document["object"]["metadata"]["checkout_reference"]
            checkout = Checkout.objects.get(reference=reference)
            if checkout.status == "paid":
                Gems.objects.create(account=checkout.owner, grant_key=uuid4().hex)
        return response

    return serve
"""
THANKS: Final = """
    def get(self, *args, **kwargs):
        from shop.models import Gems

        Gems.objects.get_or_create(account=self.checkout.owner, grant_key=self.checkout.reference)
        return super().get(*args, **kwargs)
"""


@dataclass(frozen=True, kw_only=True)
class Bug:
    """What a shop writes instead, and the test that has to fail by it."""

    file: str
    right: str
    wrong: str
    found_by: str


BUGS: Final = {
    "grants at payment_success": Bug(
        file="receivers.py",
        right=FILES["receivers.py"],
        wrong=RECEIVERS + AT_SUCCESS.format(condition="checkout is not None"),
        found_by="test_a_payment_of_something_else_grants_nothing",
    ),
    "compares the amount, not the currency": Bug(
        file="receivers.py",
        right=FILES["receivers.py"],
        wrong=RECEIVERS
        + AT_SUCCESS.format(
            condition="checkout and order.amount == checkout.expected_amount and not order.testing_case"
        ),
        found_by="test_a_payment_of_something_else_grants_nothing",
    ),
    "grants again at each delivery": Bug(
        file="middleware.py", right="", wrong=AT_WEBHOOK, found_by="test_a_payment_grants_once"
    ),
    "grants for each payment of one checkout": Bug(
        file="receivers.py",
        right=FILES["receivers.py"],
        wrong=RECEIVERS + AT_SUCCESS.format(condition='checkout and kwargs["verdict"] == "verified"'),
        found_by="test_a_payment_grants_once",
    ),
    "takes nothing back": Bug(
        file="receivers.py",
        right=REMOVE,
        wrong="",
        found_by="test_a_reversal_takes_back_whatever_comes_first",
    ),
    "takes back after a refund, and not after a chargeback": Bug(
        file="receivers.py",
        right=REMOVE,
        wrong="from checkout_integration.signals import payment_refund\n\n\n@payment_refund.receiver()\n"
        "def remove(checkout: Checkout | None, partial: bool, **kwargs: Any) -> None:\n    if not partial:\n"
        "        Gems.objects.filter(grant_key__in=checkout.grants.values('key')).delete()\n",
        found_by="test_a_reversal_takes_back_whatever_comes_first",
    ),
    "takes all back after a refund of a part": Bug(
        file="receivers.py",
        right=REMOVE,
        wrong="from checkout_integration.signals import payment_refund\n\n\n"
        + REMOVE
        + "\n\n@payment_refund.receiver()\ndef stop(checkout: Checkout | None, **kwargs: Any) -> None:\n"
        "    Gems.objects.filter(grant_key__in=checkout.grants.values('key')).delete()\n",
        found_by="test_a_part_that_is_refunded_takes_nothing_back",
    ),
    "grants to the buyer": Bug(
        file="receivers.py",
        right="account=checkout.owner",
        wrong="account=checkout.user",
        found_by="test_a_gift_is_the_recipients",
    ),
    "sends the mail at once": Bug(
        file="receivers.py",
        right=MAIL,
        wrong="    mail()\n",
        found_by="test_an_interrupted_receiver_leaves_nothing_and_runs_again",
    ),
    "trusts the page after the form": Bug(
        file="views.py",
        right='    template_name = "checkout_integration/return.html"\n',
        wrong='    template_name = "checkout_integration/return.html"\n' + THANKS,
        found_by="test_the_page_after_the_form_grants_nothing",
    ),
    "grants once for an agreement": Bug(
        file="receivers.py",
        right="Gems.objects.create(account=checkout.owner, grant_key=grant.key)",
        wrong="Gems.objects.get_or_create(account=checkout.owner, grant_key=checkout.reference)[0]",
        found_by="test_each_renewal_is_granted_and_taken_back_for_itself",
    ),
    "takes back all that the account has": Bug(
        file="receivers.py",
        right="filter(grant_key=grant.key)",
        wrong="filter(account=grant.checkout.owner)",
        found_by="test_each_renewal_is_granted_and_taken_back_for_itself",
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> BlankProject:
    """A small project with the shop of the page; the product is this source tree."""
    folder = tmp_path_factory.mktemp("gems") / "project"
    project = BlankProject.write(folder, Path(sys.executable), "https://service.invalid")
    write(project, FILES)
    (folder / "mysite" / "urls.py").write_text(URLS)
    with (folder / "mysite" / "settings.py").open("a") as settings:
        settings.write('MIDDLEWARE += ["shop.middleware.granting"]\n')
        settings.write('PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]\n')
    run(project, "manage.py", "makemigrations", "shop")
    return project


def write(project: BlankProject, files: dict[str, str]) -> None:
    """Write the shop's modules."""
    empty = {"middleware.py": "def granting(get_response):\n    return get_response\n"}
    for name, text in files.items():
        (project.folder / "shop" / name).write_text(text or empty[name])


def run(project: BlankProject, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the project with the source tree at hand."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project.folder,
        env=project.environment("", {"PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        check=False,
    )


def run_tests(project: BlankProject, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the page's command."""
    command = block("docs/reference/testing.md", "$ python manage.py test shop")
    return run(project, *command.split()[2:], *options)


def failed_in(output: str) -> set[str]:
    """Return the names of the tests that failed, or that an exception ended."""
    lines = [line for line in output.splitlines() if line.startswith(("FAIL: ", "ERROR: "))]
    return {line.split()[1] for line in lines}


def test_the_shop_of_the_page_has_none(project: BlankProject) -> None:
    """All its tests pass, and each was run."""
    done = run_tests(project)
    assert done.returncode == 0, done.stderr
    assert f"Ran {FILES['tests.py'].count('def test_')} tests" in done.stderr


@pytest.mark.parametrize("name", random.Random(SEED).sample(sorted(BUGS), times(4, len(BUGS))))
def test_a_bug_of_a_shop_is_found(project: BlankProject, name: str) -> None:
    """By the test that the page names for it, and a failed assertion says so."""
    bug = BUGS[name]
    text = FILES[bug.file]
    assert text.count(bug.right) == 1 or not bug.right
    write(project, {**FILES, bug.file: text.replace(bug.right, bug.wrong) if bug.right else bug.wrong})
    try:
        done = run_tests(project, "-k", bug.found_by)
    finally:
        write(project, FILES)
    assert failed_in(done.stderr) == {bug.found_by}, done.stderr
    assert "AssertionError" in done.stderr
    assert "ImportError" not in done.stderr and "SyntaxError" not in done.stderr


def test_the_page_has_a_row_for_each_test_that_finds_one() -> None:
    """Its table names tests without their first word."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert {bug.found_by for bug in BUGS.values()} <= {
        f"test_{name}" for name in page.replace("`", " ").split() if f"def test_{name}" in FILES["tests.py"]
    }
