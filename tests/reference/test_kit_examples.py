"""The worked examples of the test kit and of the sandbox, as they stand on their pages."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from checkout_integration import flows
from checkout_integration.testing.delivery import Deliver
from tests.reference.test_examples import executed
from tests.support.documents import block


def test_the_documents_of_the_kit_are_made() -> None:
    """Each of the factories of documents."""
    module = executed("testing", block("docs/reference/testing.md", "# shop/test_documents.py"))
    module.test_documents_of_the_service()


@pytest.fixture
def shop_tests() -> ModuleType:
    """The tests of the page of the test kit."""
    return executed("testing", block("docs/reference/testing.md", "# shop/test_checkouts.py"))


@pytest.mark.django_db(transaction=True)
def test_the_first_test_of_the_kit_passes(
    shop_tests: ModuleType, checkout_sandbox: Any, live_server: Any
) -> None:
    """From the form to the refund."""
    shop_tests.test_a_hat_is_bought_and_given_back(checkout_sandbox, live_server)


@pytest.mark.django_db
def test_the_other_tests_of_the_kit_pass(shop_tests: ModuleType, request: pytest.FixtureRequest) -> None:
    """Each with the fixtures that it asks for."""
    orderings = request.getfixturevalue("checkout_orderings")
    deliver = request.getfixturevalue("checkout_deliver")
    shop_tests.test_the_order_of_arrival_does_not_matter(orderings)
    shop_tests.test_a_payment_of_another_amount_is_in_review(deliver)


@pytest.mark.django_db
def test_the_test_of_the_kit_about_a_refund_passes(shop_tests: ModuleType, checkout_deliver: Deliver) -> None:
    """It arrives before its payment."""
    shop_tests.test_a_refund_that_arrives_first_grants_nothing(checkout_deliver)


@pytest.mark.django_db
def test_the_test_of_the_kit_about_a_part_passes(shop_tests: ModuleType, checkout_deliver: Deliver) -> None:
    """The goods stay granted."""
    shop_tests.test_goods_stay_granted_after_a_part_was_refunded(checkout_deliver)


@pytest.mark.django_db
def test_the_last_test_of_the_kit_passes(shop_tests: ModuleType, checkout_deliver: Deliver) -> None:
    """It counts rows."""
    shop_tests.test_rows_for_a_report(checkout_deliver)


@pytest.mark.django_db(transaction=True)
def test_the_fixture_of_the_kit_is_a_sandbox_of_the_other_profile(settings: Any) -> None:
    """To which the settings point."""
    module = executed("testing", block("docs/reference/testing.md", "# shop/conftest.py"))
    with contextmanager(inspect.unwrap(module.strict_sandbox))(settings) as sandbox:
        assert sandbox.profile.name == "spec"
        assert flows.create_checkout(type="product", products=["sword"]).payment_form_url


def test_the_rehearsal_of_the_page_pays_in_each_way() -> None:
    """By card, by wallet and in a crypto currency; what is refused says why."""
    module = executed("rehearsal", block("docs/reference/sandbox.md", "# shop/rehearsal.py"))
    assert module.rehearse() == [
        "paid",
        "paid",
        "declined",
        "an order that is not there: 404",
        "a fault: 503",
    ]
