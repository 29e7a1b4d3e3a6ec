"""Every part of Django that its documentation does not promise, and that the product uses all the same: each with the reason.

A Django that changes one of these may break the product without a warning of deprecation. The tox cell `django-pre` meets it
first.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Final

import pytest

import checkout_integration

PACKAGE: Final = Path(checkout_integration.__file__).parent
PRIVATE_NAMES: Final = {
    "_base_manager": "documented: the manager of all rows of a model, whatever its own managers hide",
    "_db": "querysets and managers: the database chosen by using(); models/row.py reads related rows where the row came from",
    "_default_manager": "documented: the manager of a model that is not known beforehand",
    "_for_write": "querysets: set by get_or_create and the like; models/row.py leaves these to Django",
    "_get_obj_does_not_exist_redirect": "ModelAdmin: its own answer for a row that is not there, for the pages that we add",
    "_has_been_logged": "responses: Django's logs leave it out; views/health.py answers 503 to monitors, every few seconds",
    "_hints": "querysets and managers: the row that a related manager belongs to; models/row.py",
    "_is_list_view": "drf-spectacular's AutoSchema: whether an operation is a list; api/description.py",
    "_meta": "documented: the fields of a model",
    "_raw_delete": "querysets: deletes without reading rows or sending signals, in one statement",
    "_request": "REST framework's requests: Django's own, which the hook of a view is promised; api/views.py",
    "_state": "documented: the database of a row, and whether it is stored",
}
UNDOCUMENTED_MODULES: Final = {
    "django.contrib.admin.helpers": "AdminForm and Fieldset, for forms on the admin's own pages",
    "django.contrib.admin.options": "BaseModelAdmin, which ModelAdmin and TabularInline share",
    "django.contrib.admin.utils": "unquote, flatten_fieldsets and label_for_field, as the admin's own views use them",
    "django.contrib.admin.views.main": "ChangeList, which get_changelist is documented to return",
    "django.core.checks.registry": "the checks that are registered: checkout_doctor runs those of this app alone",
    "django.core.handlers.asgi": "ASGIRequest: an ASGI server gets files from an iterator that it can await",
    "django.db.backends.base.base": "BaseDatabaseWrapper: the type of connections",
    "django.db.backends.utils": "CursorWrapper: the type of cursors",
    "django.db.migrations.executor": "MigrationExecutor: which migrations are missing, as migrate --check sees it",
    "django.db.models.fields.related_descriptors": "RelatedManager: the type of reverse relations",
    "django.utils.crypto": "constant_time_compare and get_random_string",
    "django.utils.formats": "date_format and number_format, as templates' filters use them",
}
OF_PYTHON: Final = {"_replace", "_Decompress"}
"""A named tuple's, and a type of zlib that has no public name."""
DOCUMENTED_MODULES: Final = frozenset(
    """
    django django.apps django.conf django.contrib django.contrib.admin django.contrib.admin.models django.contrib.auth
    django.contrib.auth.decorators django.contrib.auth.mixins django.contrib.auth.models django.contrib.contenttypes.fields
    django.contrib.contenttypes.models django.core django.core.cache
    django.core.checks django.core.exceptions django.core.mail django.core.management.base
    django.core.paginator django.core.signals django.db django.db.models django.db.models.deletion
    django.db.models.functions django.dispatch django.forms django.http django.http.response django.shortcuts
    django.template django.template.loader django.template.response django.test django.urls django.utils
    django.utils.cache django.utils.dateparse django.utils.decorators django.utils.html django.utils.module_loading
    django.utils.safestring django.utils.text django.utils.timezone django.utils.translation django.views
    django.views.decorators.cache django.views.decorators.clickjacking django.views.decorators.csrf
    django.views.decorators.http django.views.generic django.views.generic.base
    django.views.generic.list
    """.split()
)


@pytest.fixture(scope="module")
def trees() -> list[ast.Module]:
    """Give the product's modules, read."""
    files = [path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in files]


@pytest.mark.slow
def test_private_names_of_django_are_listed(trees: list[ast.Module]) -> None:
    """What the product reads with an underscore and does not define itself: nothing is missing, nothing is stale."""
    own = set().union(*(names_defined(tree) for tree in trees)) - _overridden()
    read = {name for tree in trees for name in private_names_read(tree)}
    assert {name for name in read if name not in own and name not in OF_PYTHON} == set(PRIVATE_NAMES)


def test_private_methods_of_django_are_not_overridden() -> None:
    """A class of ours redefines none of Django's methods with an underscore."""
    assert _overridden() == set()


@pytest.mark.slow
def test_undocumented_modules_of_django_are_listed(trees: list[ast.Module]) -> None:
    """A module of Django is imported that its documentation names, or that is listed."""
    imported = {name for tree in trees for name in modules_imported(tree) if _is_django(name)}
    assert imported - DOCUMENTED_MODULES == set(UNDOCUMENTED_MODULES)


@pytest.mark.slow
def test_no_private_name_is_imported(trees: list[ast.Module]) -> None:
    """Neither of Django nor of anything else but the type checker's own."""
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    private = {name for name in imported if any(is_private(part) for part in name.split("."))}
    assert {name for name in private if not name.startswith("_typeshed.")} == set()


def names_defined(tree: ast.Module) -> set[str]:
    """Return what a module defines: functions, classes, parameters, variables and attributes of `self`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                found.add(name)
    return found


def private_names_read(tree: ast.Module) -> Iterator[str]:
    """Yield the attributes with one underscore in front, plain or by their name in a text."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if is_private(name):
                yield name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                if is_private(name):
                    yield name


def modules_imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a module imports, inside functions and for the type checker too."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(name)):
                yield name
            case ast.Import(names=names):
                yield from (alias.name for alias in names)


def is_private(name: str) -> bool:
    """Tell whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _is_django(module: str) -> bool:
    return module.partition(".")[0] == "django"


def _overridden() -> set[str]:
    """Return the private methods that a class of the product has, and that a class of Django above it has too."""
    return {
        name
        for module in _modules()
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        for name, value in vars(kind).items()
        if is_private(name) and inspect.isfunction(value)
        if any(name in vars(parent) for parent in kind.__mro__[1:] if _is_django(parent.__module__))
    }


def _modules() -> Iterator[ModuleType]:
    skipped = ("migrations", "__main__", "sandbox")
    for found in walk_packages([str(PACKAGE)], "checkout_integration."):
        if not any(part in skipped for part in found.name.split(".")):
            yield import_module(found.name)
