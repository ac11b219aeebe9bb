"""Which tests try a mutant: the closest ones among those that reach it, the cheapest first."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.coveragemap import CoverageMap, Reaching
from tests.mutation.mutants import Mutant

#: Folder of sources -> tests that compare constants of its modules with those of Kubernetes. Reading a constant runs no
#: line of its module, so the map does not know them: they try each mutant that runs when its module is imported.
OF_CONSTANTS = {
    "fakekube/apiserver": (
        "tests/apiserver/test_rules_of_kinds.py",
        "tests/apiserver/test_upstream_limits.py",
        "tests/apiserver/table/test_columns.py",
    )
}


def reaching(mutant: Mutant, known: CoverageMap, files: dict[str, str]) -> list[Reaching]:
    """The tests that run the mutant.

    One that runs when its module is imported is run by all tests that reach the module, or, if it has only tables, the
    modules that import it. A function that no test runs, or only tests that import the module, may be called then, too.
    """
    tests = known.reaching(mutant.file)
    if not mutant.imported:
        first, last = mutant.statement
        exact = [test for test in tests if mutant.line in test.lines]
        around = exact or [test for test in tests if any(line in test.lines for line in range(first, last + 1))]
        if around and not _only_import(around, tests):
            return around
    return tests or [test for file in importers(mutant.file, files) for test in known.reaching(file)]


def _only_import(some: Iterable[Reaching], tests: Iterable[Reaching]) -> bool:
    """Whether some of the tests of a file all run its first line, which only the import of its module runs."""
    begin = min(min(test.lines) for test in tests)
    return all(begin in test.lines for test in some)


def of_constants(mutant: Mutant, known: CoverageMap) -> list[Reaching]:
    """The tests of constants that try the mutant."""
    if not mutant.imported:
        return []
    files = [
        file for folder, files in OF_CONSTANTS.items() if Path(folder) in Path(mutant.file).parents for file in files
    ]
    return [test for file in files for test in known.tests_of(file)]


def importers(file: str, files: dict[str, str]) -> list[str]:
    """The sources that import the module of a file."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return [other for other, source in files.items() if other != file and module in _imported(source)]


def _imported(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def closest(tests: Iterable[Reaching], count: int, seconds: float) -> list[Reaching]:
    """At most `count` tests that take `seconds` together, and at least one, the cheapest and closest first.

    A test is close if a large part of the lines that it runs are of this file. Half of them are chosen by functions, whose
    cases take turns, so that a table of a hundred rows is not all that is tried; the other half by their closeness alone, so
    that a row of the closest table is tried before tests that run the whole project.
    """
    functions: defaultdict[str, list[Reaching]] = defaultdict(list)
    nearest = sorted(tests, key=lambda test: (-_closeness(test), test.seconds, test.name))
    for test in nearest:
        functions[test.name.partition("[")[0]].append(test)
    turns = sorted(
        (turn, -_closeness(test), test.name, test) for cases in functions.values() for turn, test in enumerate(cases)
    )
    both = dict.fromkeys(test for pair in zip((row[-1] for row in turns), nearest, strict=True) for test in pair)
    chosen: list[Reaching] = []
    for test in both:
        if len(chosen) < count and (not chosen or sum(one.seconds for one in chosen) + test.seconds <= seconds):
            chosen.append(test)
    return sorted(chosen, key=lambda test: (test.seconds / _closeness(test), test.name))


def _closeness(test: Reaching) -> float:
    return len(test.lines) / max(test.breadth, 1)


def without(tests: Iterable[Reaching], names: Iterable[str]) -> list[Reaching]:
    """The tests but those of these names."""
    left_out = set(names)
    return [test for test in tests if test.name not in left_out]


def all_sources(root: Path, packages: Iterable[str]) -> dict[str, str]:
    """The sources of the packages, by their path below `root`."""
    return {
        str(path.relative_to(root)): path.read_text()
        for name in packages
        for path in sorted((root / name).rglob("*.py"))
    }
