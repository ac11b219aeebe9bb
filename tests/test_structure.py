"""The structure of the product: import contracts, sizes of packages, names of modules, what users import, language.

Violations that are still there are listed in `structure_known.txt`. The list only shrinks: a violation that is not on it
fails, and so does an entry without a violation. `python -m tests.test_structure` removes such entries and adds none.
"""

import ast
import io
import logging.config
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent
PACKAGES = ("controllerlib", "fakekube")
KNOWN = Path(__file__).with_name("structure_known.txt")
REGISTRY = ROOT / "fakekube" / "apiserver" / "registry"

SOURCES = {path: path.read_text() for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def test_imports_keep_to_the_contracts(capsys, monkeypatch):
    monkeypatch.setattr(logging.config, "dictConfig", lambda _: None)  # it would disable the loggers of other tests
    status = lint_imports()
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


# --- sizes of packages -----------------------------------------------------------------------------------------------

#: Modules at the top level of a package.
MOST = 25

#: Packages of the registry that are not API groups.
NO_GROUPS = {"custom", "generic", "kinds", "tables", "validation"}


def in_group(path: Path) -> bool:
    """Whether a module or package belongs to an API group of the registry, which has as many kinds as Kubernetes has."""
    return REGISTRY in path.parents and path.relative_to(REGISTRY).parts[0] not in NO_GROUPS


def sizes() -> Iterator[str]:
    for folder in sorted({path.parent for path in SOURCES}):
        count = len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
        if count > MOST and folder != REGISTRY and not (in_group(folder) and folder.parent == REGISTRY):
            yield str(folder.relative_to(ROOT))


# --- names of modules ------------------------------------------------------------------------------------------------

#: Modules that every kind of the registry may have.
OF_A_KIND = {"conversion", "defaults", "status", "strategy", "subresources", "table", "validation", "warnings"}

#: One name for two things, and why it is the right one for both.
SHARED_NAMES = {
    "apply": "server-side apply itself, and the verb",
    "kubelet": "the agent of nodes, and its API as the server calls it",
    "patch": "the patch formats, and the verb",
    "scheduler": "the scheduler of pods, and that of threads",
    "registration": "one interface, for built-in and for custom resources",
    "watch": "a cursor on the store, and the verb",
}


#: Modules that are named as the desks of a cluster, which are named after what they are about.
DESKS = ROOT / "fakekube" / "harness" / "desks"


def names() -> Iterator[str]:
    """Modules and packages of one name in one of the two packages. A package may have a module of its own name."""
    where = defaultdict(set)
    for path in SOURCES:
        named = path.parent if path.name == "__init__.py" else path
        kind = in_group(named) and (len(named.relative_to(REGISTRY).parts) <= 2 or named.suffix != ".py")
        if kind or (REGISTRY in named.parents and named.stem in OF_A_KIND) or named.stem in SHARED_NAMES:
            continue
        if path.parent == DESKS:
            continue
        own = named.suffix == ".py" and named.parent.name == named.stem
        where[path.relative_to(ROOT).parts[0], named.stem].add(named.parent if own else named)
    for (package, name), paths in sorted(where.items()):
        if len(paths) > 1:
            yield f"{package}: {name}"


def test_shared_names_are_shared():
    count = Counter(path.parent.name if path.name == "__init__.py" else path.stem for path in SOURCES)
    assert [name for name in SHARED_NAMES if count[name] < 2] == []


# --- what users import -----------------------------------------------------------------------------------------------


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # `from controllerlib import cache` imports a package, as `import controllerlib.cache` does
            yield from (f"{node.module}.{alias.name}" for alias in node.names if is_module(node.module, alias.name))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_module(package: str, name: str) -> bool:
    path = ROOT.joinpath(*package.split("."), name)
    return path.is_dir() or path.with_suffix(".py").exists()


def allowed(module: str) -> bool:
    top, *rest = module.split(".")
    return top not in PACKAGES or not rest or (top == "controllerlib" and len(rest) == 1)


def deep_imports() -> Iterator[str]:
    readme = re.findall(r"^ *(?:from|import) ([\w.]+)", (ROOT / "README.md").read_text(), re.M)
    yield from (f"README.md: {module}" for module in readme if not allowed(module))
    for path in sorted([*ROOT.glob("tests/examples/**/*.py"), *ROOT.glob("docs/examples/**/*.py")]):
        yield from (f"{path.name}: {module}" for module in imported(path.read_text()) if not allowed(module))


# --- language --------------------------------------------------------------------------------------------------------

WORDS = re.compile(r"\b(told|tells|somebody|nobody|minds)\b", re.I)

#: What an f-string fills in is code.
FILLED_IN = re.compile(r"\{[^{}]*\}")

#: Lines with texts of Kubernetes, which stay as they are.
WIRE_MESSAGES: set[str] = set()


def phrases(source: str) -> Iterator[str]:
    """The lines in which a comment or a string has one of the words."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    lines = source.splitlines()
    if not WORDS.search(source):
        return  # quicker than its tokens
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds and WORDS.search(FILLED_IN.sub("", token.string)):
            spanned = lines[token.start[0] - 1 : token.end[0]]
            yield from (line.strip() for line in spanned if WORDS.search(FILLED_IN.sub("", line)))


def language() -> Iterator[str]:
    for source in SOURCES.values():
        yield from (line for line in phrases(source) if line not in WIRE_MESSAGES)
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield from (line.strip() for line in path.read_text().splitlines() if WORDS.search(line))


# --- custom resources ------------------------------------------------------------------------------------------------

#: Where an endpoint is chosen: the only module that asks whether a resource is a custom one.
CHOICE = ROOT / "fakekube" / "apiserver" / "apiserver.py"


def custom() -> Iterator[str]:
    for path, source in SOURCES.items():
        if ".custom" not in source or path == CHOICE:
            continue
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and node.attr == "custom":
                yield lines[node.lineno - 1].strip()


# --- known violations ------------------------------------------------------------------------------------------------

CHECKS = {
    "packages with more than 25 modules": sizes,
    "modules of one name": names,
    "imports of users deeper than a package": deep_imports,
    "language": language,
    "uses of .custom": custom,
}


def known() -> dict[str, set[str]]:
    """The violations on the list, by check. A line in brackets is the name of a check."""
    found: dict[str, set[str]] = {check: set() for check in CHECKS}
    check = ""
    for line in KNOWN.read_text().splitlines() if KNOWN.exists() else ():
        if line.startswith("[") and line[1:-1] in CHECKS:
            check = line[1:-1]
        elif line and check:
            found[check].add(line)
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_no_violation_is_new_and_no_known_one_is_fixed(check):
    found, listed = set(CHECKS[check]()), known()[check]
    assert sorted(found - listed) == []
    stale = sorted(listed - found)
    assert not stale, f"fixed, run `python -m tests.test_structure` to remove them from {KNOWN.name}: {stale}"


def write(entries: dict[str, set[str]]) -> None:
    blocks = ["\n".join([f"[{check}]", *sorted(found)]) for check, found in entries.items() if found]
    KNOWN.write_text("\n\n".join(blocks) + "\n" if blocks else "")


if __name__ == "__main__":
    write({check: found & set(CHECKS[check]()) for check, found in known().items()})
