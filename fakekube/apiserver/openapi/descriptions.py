"""The descriptions of built-in types and their fields, as the Kubernetes API documents them.

They are read from the docstrings of the package `lightkube-models` on first use, one group and version at a time, and
are those of its version. Without the package, types have no descriptions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fakekube.struct import Struct, field

#: The width at which the package wraps the lines of a description.
_WIDTH = 78

_INDENT = (" ", "\t")

_PARAMETERS = "**parameters**"
_FIELD = re.compile(r"\* \*\*(.+?)\*\* ``.*?`` - ?")


class Described(Struct, frozen=True):
    """The description of a type, and those of its fields by their JSON names."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


_NOTHING = Described()


def of_type(name: str) -> Described:
    """The descriptions of a type by its short name (`core.v1.Pod`)."""
    module, _, kind = name.rpartition(".")
    return _module(module.replace(".", "_")).get(kind, _NOTHING)


@cache
def _module(name: str) -> Mapping[str, Described]:
    """The types of a module of the package (`core_v1`)."""
    spec = find_spec("lightkube")  # does not import the package
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "models", f"{name}.py")
        if path.exists():
            return dict(_types(path.read_text(encoding="utf-8")))
    return {}


def _types(source: str) -> Iterator[tuple[str, Described]]:
    for node in ast.parse(source).body:
        docstring = ast.get_docstring(node, clean=False) if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.ClassDef) and docstring:
            yield node.name, _described([line.removeprefix("      ") for line in docstring.split("\n")])


def _described(lines: Sequence[str]) -> Described:
    start = lines.index(_PARAMETERS) if _PARAMETERS in lines else len(lines)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[start + 1 :]:
        match = _FIELD.match(line)
        if match:
            # names that are keywords of Python have a trailing underscore; hyphens are underscores
            current = found[match[1].rstrip("_").replace("_", "-")] = [line[match.end() :]]
        else:
            current.append(line.removeprefix("  "))
    return Described(unwrapped(lines[:start]), {name: unwrapped(text) for name, text in found.items()})


def unwrapped(lines: Sequence[str]) -> str:
    """A wrapped description with its paragraphs on one line each.

    A line was wrapped if the first word of the next one would not have fitted. Other line ends separate paragraphs,
    but for indented lines, which are preformatted; blank lines between the paragraphs of fields are not in the package.
    """
    found = ""
    previous = ""
    for line in _stripped(lines):
        if not previous or not line:
            separator = "\n" if found else ""
        elif not line.startswith(_INDENT) and len(previous) + 1 + len(line.split()[0]) > _WIDTH:
            separator = " "
        else:
            preformatted = line.startswith(_INDENT) or previous.startswith(_INDENT)
            separator = "\n" if preformatted or "" in lines else "\n\n"
        found, previous = found + separator + line, line
    return found


def _stripped(lines: Sequence[str]) -> Sequence[str]:
    """The lines without the blank ones at the end."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return [line if line.strip() else "" for line in lines[:end]]
