"""Rendering: every value is escaped, and a name that a template lacks is an error."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from checkout_integration.sandbox.pages.rendering import message_page, render


def test_values_are_escaped() -> None:
    """In texts, and in attributes."""
    page = message_page("<b>No</b>", "a & b")
    assert "<h1>&lt;b&gt;No&lt;/b&gt;</h1>" in page
    assert "a &amp; b" in page
    tone = render("result", heading="No", text="", mark="?", tone='"><script>')
    assert 'class="mark &#34;&gt;&lt;script&gt;"' in tone


def test_a_missing_value_is_an_error() -> None:
    """It would show as nothing."""
    with pytest.raises(UndefinedError):
        render("result", heading="Half a page")


def test_no_template_switches_escaping_off() -> None:
    """Neither for a block nor for a value."""
    for template in files("checkout_integration.sandbox.pages").joinpath("templates").iterdir():
        assert not re.search(r"\|\s*safe\b|autoescape", template.read_text("utf-8")), template.name


def test_html_stands_in_templates_alone() -> None:
    """No module of the two rooms with pages writes a tag."""
    for room in ("form", "pages"):
        for module in files(f"checkout_integration.sandbox.{room}").iterdir():
            if module.name.endswith(".py"):
                assert not re.search(r"</[a-z]|<[a-z]+ [a-z-]+=", module.read_text("utf-8")), module.name
