"""The scripts of a shop's pages, the app's module and what imports it, under TypeScript in strict mode.

Deno has the compiler with it, and comes as a wheel of the lint group: no registry of JavaScript packages is asked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.documents import ROOT, block

DENO: Final = Path(sys.executable).with_name("deno")
STATIC: Final = [ROOT / "checkout_integration" / "static", ROOT / "example_project" / "shop" / "static"]
MODULE: Final = "checkout_integration/checkout.js"
OPTIONS: Final = {
    "compilerOptions": {
        "lib": ["dom", "dom.iterable", "esnext"],
        "checkJs": True,
        "strict": True,
        "noUncheckedIndexedAccess": True,
        "noUnusedLocals": True,
        "noUnusedParameters": True,
    }
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DENO.exists(), reason="needs deno, of the group lint"),
]


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """The static files of app and shop in one folder, as collectstatic puts them, with the documented script."""
    for folder in STATIC:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "shop" / "documented.js").write_text(
        "// @ts-check\n" + block("docs/shop-pages.md", "// shop/static/shop/pay.js")
    )
    (tmp_path / "deno.json").write_text(json.dumps(OPTIONS))
    return tmp_path


def complaints(folder: Path) -> str:
    """What TypeScript says of the module and of every script of the shop; "" if all is well."""
    scripts = [MODULE, *(each.relative_to(folder).as_posix() for each in folder.glob("shop/*.js"))]
    command = [str(DENO), "check", "--quiet", "--no-remote", "--no-npm", "--no-lock", *scripts]
    environment = {"NO_COLOR": "1", "DENO_DIR": str(folder / "cache"), "DENO_NO_UPDATE_CHECK": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def test_the_scripts_have_no_wrong_types(static: Path) -> None:
    """Neither the module, nor what the example and the documentation do with it."""
    assert complaints(static) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("location.assign(address);", "location.assign(1);", "TS2345"),
        ('typeof name === "string" ? name : ""', "name", "TS2322"),
        ("const hear = (event) =>", "const heard = (event) =>", "TS6133"),
    ],
)
def test_a_wrong_type_is_found(static: Path, right: str, wrong: str, said: str) -> None:
    """The compiler reads the comments, and is strict."""
    file = static / MODULE
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    assert said in complaints(static)


def test_a_wrong_call_of_a_shop_is_found(static: Path) -> None:
    """The types of the module reach the scripts that import it."""
    (static / "shop" / "wrong.js").write_text(
        'import { openForm } from "../checkout_integration/checkout.js";\nopenForm("/form", { way: "popup" });\n'
    )
    assert "popup" in complaints(static)


def test_the_module_needs_nothing(static: Path) -> None:
    """It imports nothing, and reads no text as code."""
    text = (static / MODULE).read_text()
    assert text.startswith("// @ts-check\n")
    for word in ("import ", "import(", "eval(", "innerHTML", "Function(", "document.write"):
        assert word not in text, word
