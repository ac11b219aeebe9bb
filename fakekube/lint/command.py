"""The command `fakekube lint`. Large modules are imported when it runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fakekube.apiserver.features import RECORDED
from fakekube.apiserver.versions import UnknownVersion

if TYPE_CHECKING:
    from fakekube.lint.defect import Defect

#: The exit statuses: nothing is wrong, defects, and what cannot be read.
DEFECTS, UNREADABLE = 1, 2


def _versions(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    from fakekube.server import bootstrap

    try:
        return tuple(dict.fromkeys(bootstrap.version_of(one.strip()) for one in value.split(",")))
    except UnknownVersion as problem:
        raise click.BadParameter(str(problem)) from None


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="DIR|FILE|-...")
@click.option(
    "--kubernetes-version",
    "versions",
    default=RECORDED,
    show_default=True,
    callback=_versions,
    help="Kubernetes minor versions, separated by commas.",
)
@click.option("--crds", multiple=True, type=click.Path(path_type=Path), help="Definitions that the cluster has.")
@click.option(
    "--policies",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Other objects that the cluster has: policies, quotas, limits, namespaces, roles.",
)
@click.option("--as", "user", default="", metavar="USER", help="Who applies the manifests; checks access (RBAC).")
@click.option("--no-pods", is_flag=True, help="Do not judge the pods of templates.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "junit", "github", "sarif"]),
    default="text",
    show_default=True,
    help="Format of the output.",
)
def lint(
    sources: Sequence[str],
    versions: Sequence[str],
    crds: Sequence[Path],
    policies: Sequence[Path],
    user: str,
    no_pods: bool,
    output: str,
) -> None:
    """Check manifests as a server would: schemas, validation, admission, policies, and the pods of templates.

    Nothing listens and nothing is changed. The exit status is 1 for defects, and 2 for files that cannot be read.

    Example: fakekube lint --kubernetes-version 1.31,1.36 --crds crds/ deploy/
    """
    from fakekube.lint.defect import errors, merged
    from fakekube.lint.formats import FORMATS
    from fakekube.lint.linting import Wanted
    from fakekube.lint.linting import lint as linted

    present, unreadable = _read([*map(str, crds), *map(str, policies)])
    objects, more = _read(sources)
    wanted = Wanted(objects, present, user, not no_pods)

    async def work() -> dict[str, list[Defect]]:
        return {version: await linted(wanted, version) for version in versions}

    defects = [*unreadable, *more, *merged(asyncio.run(work()))]
    click.echo(FORMATS[output](defects, len(objects)), nl=False)
    sys.exit(UNREADABLE if unreadable or more else DEFECTS if errors(defects) else 0)


def _read(sources: Sequence[str]) -> tuple[list[Any], list[Defect]]:
    """The objects of files, directories and standard input, and a defect for what cannot be read."""
    from fakekube.lint.defect import Defect
    from fakekube.server import manifests

    found: list[Any] = []
    problems: list[str] = []
    for source in sources:
        if source == "-":
            some, wrong = manifests.placed_in(sys.stdin.read(), "-")
            if not some and not wrong:
                wrong = ["-: no manifests on standard input"]
        else:
            some, wrong = manifests.read_all([Path(source)])
        found += some
        problems += wrong
    return found, [Defect(*_split(problem)) for problem in problems]


def _split(problem: str) -> tuple[str, int, str, str, str]:
    """The place and the message of a problem, `FILE:LINE: MESSAGE` or `FILE: MESSAGE`."""
    place, _, message = problem.partition(": ")
    file, _, line = place.rpartition(":")
    return (file, int(line), "", "", message) if line.isdigit() and file else (place, 0, "", "", message)
