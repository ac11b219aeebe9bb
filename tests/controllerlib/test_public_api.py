"""The public API: documented, named after what it follows, and found under the names that the documentation gives."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import controllerlib

PACKAGES = ("client", "cache", "workqueue", "leaderelection", "record", "controller", "manager", "metrics")
MODULES = ("clock", "random", "wait", "tasks", "observer")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "controllerlib-for-go.md").read_text()
SECTION = PAGE
ROWS = [line.split("|")[2] for line in SECTION.splitlines() if line.startswith("| ") and "---" not in line]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([A-Za-z_.]+)`", row)} - {"prometheus_client"})

#: Classes without a counterpart in Go: hooks of the test harness, and what Python needs.
OURS = {"BlockingClient"}
CLASSES = {name: c for name in controllerlib.__all__ if inspect.isclass(c := getattr(controllerlib, name))}


def resolve(path: str) -> Any:
    """Return the object of a dotted name below the package; AssertionError if it is not public."""
    first, *rest = path.split(".")
    if first in (*PACKAGES, *MODULES):
        module = importlib.import_module(f"controllerlib.{first}")
        assert rest[0] in module.__all__, path
        found: Any = module
    else:
        assert first in controllerlib.__all__, path
        found, rest = getattr(controllerlib, first), rest
    for part in rest:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_names_in_the_readme_exist(name: str) -> None:
    assert resolve(name) is not None


def test_the_readme_names_every_package() -> None:
    assert len(NAMES) > 60
    assert {"Manager", "workqueue.priority_queue", "leaderelection.LeaderElector", "cache.RealFIFO"} <= set(NAMES)
    assert {name.partition(".")[0] for name in NAMES if "." in name} >= set(PACKAGES)


@pytest.mark.parametrize("folder", ["fakekube", "tests/examples"])
def test_users_import_from_the_packages_only(folder: str) -> None:
    public = {"controllerlib", *(f"controllerlib.{name}" for name in (*PACKAGES, *MODULES))}
    sources = {path: path.read_text() for path in (ROOT / folder).rglob("*.py")}
    found = {
        (path.name, module)
        for path, text in sources.items()
        for module in re.findall(r"^\s*(?:from|import) (controllerlib[\w.]*)", text, re.M)
        if module not in public
    }
    assert found == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["controllerlib", *(f"controllerlib.{package}" for package in PACKAGES)])
def test_a_package_can_be_imported_first(name: str) -> None:
    """No import depends on the order of imports, and no heavy dependency is imported before it is used."""
    heavy = "aiohttp", "kubernetes", "prometheus_client"
    code = f"import sys, {name}; print([module for module in {heavy!r} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert [done.stdout, done.stderr] == ["[]\n", ""]


@pytest.mark.parametrize("name", sorted(set(CLASSES) - OURS))
def test_a_public_class_names_its_source(name: str) -> None:
    text = CLASSES[name].__doc__ or ""
    assert re.search(r"client-go|controller-runtime|apimachinery|k8s\.io|http\.RoundTripper", text), text


@pytest.mark.parametrize(
    ("package", "name"),
    [
        pytest.param(package, name, id=f"{package}-{name}")
        for package in PACKAGES
        for name in importlib.import_module(f"controllerlib.{package}").__all__
        if inspect.isclass(getattr(importlib.import_module(f"controllerlib.{package}"), name))
    ],
)
def test_a_public_class_is_documented(package: str, name: str) -> None:
    found = getattr(importlib.import_module(f"controllerlib.{package}"), name)
    assert len((found.__doc__ or "").split()) >= 3
    own = {n: getattr(c, "fget", c) for n, c in vars(found).items() if not n.startswith("_")}
    bare = [n for n, c in own.items() if inspect.isfunction(c) and not (inspect.getdoc(c) or "").strip()]
    assert bare == []


@pytest.mark.parametrize("name", sorted(set(controllerlib.__all__) - set(CLASSES)))
def test_a_public_function_is_documented(name: str) -> None:
    found = getattr(controllerlib, name)
    assert not inspect.isroutine(found) or inspect.getdoc(found)
