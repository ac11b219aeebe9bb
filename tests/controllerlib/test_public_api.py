"""The public API: typed, documented, and found under the names that Go people know."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import controllerlib

README = (Path(__file__).parents[2] / "README.md").read_text()
SECTION = README.partition("## controllerlib for Go people\n")[2].partition("\n## ")[0]
ROWS = [line.split("|")[2] for line in SECTION.splitlines() if line.startswith("| ") and "---" not in line]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([A-Za-z_.]+)`", row)} - {"prometheus_client"})

#: What has no counterpart in Go: hooks of the harness, and what Python needs.
OURS = {
    "BlockingClient", "Call", "Cause", "Random", "FixedRandom", "Gate", "InformerEvent", "Model", "Observer", "Outcome",
    "Run", "SeededRandom", "SystemRandom", "SystemClock",
}  # fmt: skip
CLASSES = {name: c for name in controllerlib.__all__ if inspect.isclass(c := getattr(controllerlib, name))}


def resolve(path: str) -> Any:
    """What a dotted name below the package stands for; AttributeError."""
    found: Any = controllerlib
    for part in path.split("."):
        if inspect.ismodule(found) and not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_names_that_the_readme_gives_are_there(name: str) -> None:
    assert resolve(name) is not None


def test_the_readme_gives_names_of_every_part() -> None:
    assert len(NAMES) > 60
    assert {"Manager", "priority_queue", "election.LeaderElector", "core.realfifo.RealFIFO"} <= set(NAMES)


@pytest.mark.parametrize("name", sorted(set(CLASSES) - OURS))
def test_a_public_class_names_what_it_follows(name: str) -> None:
    text = CLASSES[name].__doc__ or ""
    assert re.search(r"client-go|controller-runtime|apimachinery|k8s\.io|http\.RoundTripper", text), text


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_public_class_is_documented(name: str) -> None:
    found = CLASSES[name]
    assert len((found.__doc__ or "").split()) >= 5
    mine = {n: getattr(c, "fget", c) for n, c in vars(found).items() if not n.startswith("_")}
    bare = [n for n, c in mine.items() if inspect.isfunction(c) and not (c.__doc__ or "").strip()]
    assert bare == []


@pytest.mark.parametrize("name", sorted(set(controllerlib.__all__) - set(CLASSES)))
def test_a_public_function_is_documented(name: str) -> None:
    found = getattr(controllerlib, name)
    assert not inspect.isroutine(found) or inspect.getdoc(found)
