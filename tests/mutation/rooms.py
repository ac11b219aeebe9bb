"""The rooms of the code whose mutants can be tried, and the mutants that a seed draws from them."""

import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.mutants import Mutant, compiles, mutants

#: Rooms by name: files and folders. Those of the API server are as many as all others together.
ROOMS = {
    "apiserver": ("fakekube/apiserver",),
    "controllers": ("fakekube/controllers",),
    "server": ("fakekube/server",),
    "harness": ("fakekube/harness",),
    "virtualtime": ("fakekube/virtualtime",),
    "simulation": ("fakekube/simulation",),
    "controllerlib": ("controllerlib",),
    "control": (
        "fakekube/control",
        "fakekube/lint",
        "fakekube/processexploration",
        "fakekube/commandserver.py",
        "fakekube/pythongarbage.py",
        "fakekube/struct.py",
        "fakekube/junitxml.py",
    ),
    "plugin": (
        "fakekube/pytest_plugin",
        "fakekube/cli.py",
        "fakekube/commandoptions.py",
        "fakekube/clustersettings.py",
    ),
}


def sources(root: Path, places: Iterable[str]) -> dict[str, str]:
    """The sources of files and folders, by their path below `root`."""
    paths = [
        path for place in places for path in ([root / place] if place.endswith(".py") else (root / place).rglob("*.py"))
    ]
    return {str(path.relative_to(root)): path.read_text() for path in sorted(paths)}


def draw(files: dict[str, str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants of these sources, at most one a line.

    The kinds of mutations take turns, so that rare ones (order, boundaries) are tried as well as frequent ones; within a
    kind all are equally likely. The same sources and seed draw the same mutants.
    """
    kinds = defaultdict(list)
    for file, source in files.items():
        for mutant in mutants(file, source):
            kinds[mutant.kind].append(mutant)
    source_of_chance = random.Random(seed)
    piles = []
    for kind in sorted(kinds):
        source_of_chance.shuffle(kinds[kind])
        piles.append(kinds[kind])
    drawn: list[Mutant] = []
    lines: set[tuple[str, int]] = set()
    while len(drawn) < count and any(piles):
        for pile in piles:
            while pile and len(drawn) < count:
                mutant = pile.pop()
                if (mutant.file, mutant.line) not in lines and compiles(mutant.applied(files[mutant.file])):
                    lines.add((mutant.file, mutant.line))
                    drawn.append(mutant)
                    break
    return drawn
