"""What is public (docs/reference/promises.md), each name with its signature: `python -m tests.publicapi` writes it down at a
release, and until the next one the CHANGELOG names what has changed.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fakekube import cli, pytest_plugin
from fakekube.harness.face import DESKS
from tests import face

SNAPSHOT = Path(__file__).with_name("public_api.txt")

PACKAGES = (
    "fakekube",
    "controllerlib",
    "controllerlib.cache",
    "controllerlib.client",
    "controllerlib.controller",
    "controllerlib.leaderelection",
    "controllerlib.manager",
    "controllerlib.metrics",
    "controllerlib.record",
    "controllerlib.workqueue",
)

#: Defaults that are written down; of others it is only said that there is one.
LITERALS = (bool, int, float, str, bytes, type(None))


def signature(function: Any) -> str:
    """The parameters: names, kinds and defaults, which are the same text on each interpreter; no annotations."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # of a class that is written in C
        return ""
    return str(found.replace(parameters=map(plain, found.parameters.values()), return_annotation=found.empty))


class Default:
    """Stands for a default whose text is not the same on each interpreter."""

    def __repr__(self) -> str:
        return "..."


def plain(parameter: inspect.Parameter) -> inspect.Parameter:
    literal = parameter.default is parameter.empty or isinstance(parameter.default, LITERALS)
    return parameter.replace(annotation=parameter.empty, default=parameter.default if literal else Default())


def ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("fakekube", "controllerlib")


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Public members of a class that are defined in this project."""
    found = {name: value for one in reversed(kind.__mro__) if ours(one) for name, value in vars(one).items()}
    noted = {name: "" for one in reversed(kind.__mro__) if ours(one) for name in vars(one).get("__annotations__", ())}
    for name, value in sorted({**noted, **found}.items()):
        if not name.startswith("_"):
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            yield name, signature(function) if inspect.isroutine(function) else ""


def of_class(name: str, kind: type) -> Iterator[tuple[str, str]]:
    made = ours(kind) and not getattr(kind, "_is_protocol", False) and not issubclass(kind, BaseException)
    yield name, signature(kind) if made else ""
    for member, text in members(kind):
        yield f"{name}.{member}", text


def of_package(package: str) -> Iterator[tuple[str, str]]:
    module = import_module(package)
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from of_class(f"{package}.{name}", value)
        else:
            yield f"{package}.{name}", signature(value) if inspect.isroutine(value) else ""


def of_command(path: str, command: click.Command) -> Iterator[tuple[str, str]]:
    options = sorted(name for one in command.params if isinstance(one, click.Option) for name in one.opts)
    yield path, ""
    yield from ((f"{path} {name}", "") for name in options)
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from of_command(f"{path} {name}", inner)


def public() -> dict[str, str]:
    """Each public name, and its signature if it has one."""
    found = dict(pair for package in PACKAGES for pair in of_package(package))
    for name in DESKS:
        found.update(of_class(f"desk {name}", face.desk(name)))
    found.update((f"fixture {name}", "") for name in vars(pytest_plugin) if name.startswith("fakekube"))
    found.update(of_command("$ fakekube", cli.main))
    return found


def recorded() -> dict[str, str]:
    """The names of the last release."""
    return dict(line.split("\t") for line in SNAPSHOT.read_text().splitlines())


def unnamed(before: dict[str, str], after: dict[str, str], changelog: str) -> list[str]:
    """What has changed and is not named in the changelog, as `member` of a class or command as `Class.member`."""
    names = [name for name in sorted({**before, **after}) if before.get(name) != after.get(name)]
    gone_or_new = {name for name in names if (name in before) != (name in after)}
    return [
        f"`{short(name)}`: {said(before.get(name))} -> {said(after.get(name))}"
        for name in names
        if f"`{short(name)}`" not in changelog and not gone_or_new & set(owners(name))
    ]


def said(text: str | None) -> str:
    return "absent" if text is None else text or "present"


def short(name: str) -> str:
    """The name as a changelog has it: `Cluster.advance`, `faults.jump`, `fakekube serve --port`."""
    kind, _, rest = name.partition(" ")
    if rest:
        return rest
    *packages, last = kind.split(".")
    at = next((i for i, part in enumerate(packages) if part[:1].isupper()), len(packages))
    return ".".join([*packages[at:], last])


def owners(name: str) -> Iterator[str]:
    """What a name belongs to: a class and its members come and go together, as a command and its options do."""
    for mark in (".", " "):
        owner = name.rpartition(mark)[0]
        while owner:
            yield owner
            owner = owner.rpartition(mark)[0]


if __name__ == "__main__":
    SNAPSHOT.write_text("".join(f"{name}\t{text}\n" for name, text in sorted(public().items())))
