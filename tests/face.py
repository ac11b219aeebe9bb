"""The face of a cluster as a table: `python -m tests.face` prints it, the README has it, a test compares them."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

from fakekube.harness import desks, face
from fakekube.harness.members import members_of, public_names

_SECTION = re.compile(r"^    # --- (.*?) -*$")
_METHOD = re.compile(r"^    def ([a-z]\w*)\(")


def core() -> dict[str, list[str]]:
    """The members of a cluster by area, in the order of their definition."""
    found: dict[str, list[str]] = {}
    area = "life"
    for line in inspect.getsource(face.Cluster).splitlines():
        if section := _SECTION.match(line):
            area = section[1]
        elif (method := _METHOD.match(line)) and method[1] not in found.setdefault(area, []):
            found[area].append(method[1])
    return found


def desk(name: str) -> type:
    """The class of a desk."""
    return getattr(import_module(f"{desks.__name__}.{name}"), name.capitalize())


def members(name: str) -> list[str]:
    """The members of a desk in the order of their definition."""
    made = desk(name)
    inherited = {one for base in made.__mro__[1:] for one in vars(base)}
    marked = [one for one in members_of(made) if not one.startswith("_")]
    return marked + sorted(set(public_names(made)) - set(marked) - inherited)


def _shown(name: str, made: str) -> str:
    found = desk(name)
    call = ["(selector)"] if "__call__" in vars(found) else []
    item = ['["name"]'] if "__getitem__" in vars(found) and name != "findings" else []
    return ", ".join(f"`{one}`" for one in [*(f"{name}{text}" for text in call + item), *members(name)])


def rows() -> Iterator[str]:
    """The rows of the table."""
    yield "| | |"
    yield "|---|---|"
    for area, names in core().items():
        yield f"| {area} | {', '.join(f'`{one}`' for one in names)} |"
    for name in face.DESKS:
        yield f"| `fakekube.{name}` | {_shown(name, name)} |"


if __name__ == "__main__":
    print("\n".join(rows()))
