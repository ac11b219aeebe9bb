"""A process that runs tests many times: it has imported what they import, and each run is a fork of it.

Run as a script in the tree. It reads runs from its input, one JSON object a line: the arguments of pytest, the file that
gets the output, the changed file of the tree, and the most bytes of memory. It writes two lines for each: the process that
runs it, and what that returned. After an empty object, which promises that the tree is unchanged, it imports what the last
run has imported, and writes 0.
"""

import ast
import json
import os
import resource
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

#: What `run` returns instead of a return value if the run ended by a signal.
ENDED = -1

_DYNAMIC = ("import_module", "__import__")


def serve() -> None:
    """Answers the runs of the input until it ends."""
    root = Path.cwd()
    imported = ["pytest"]
    for line in sys.stdin:
        order = json.loads(line)
        if not order:
            _preload(root, imported)
            print(0, flush=True)
            continue
        with tempfile.NamedTemporaryFile("r") as used:
            child = os.fork()
            if child == 0:
                _run(root, order, used.name)
            print(child, flush=True)
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            print(code if code >= 0 else ENDED, flush=True)
            imported = json.loads(used.read() or "[]")


def _run(root: Path, order: dict[str, Any], used: str) -> None:
    """Runs the tests in this process, which is a fork, and ends it. Writes which modules it has imported to `used`."""
    code = 70
    try:
        os.setsid()
        output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.close(output), os.close(nothing)
        resource.setrlimit(resource.RLIMIT_AS, (order["memory"], order["memory"]))
        if order["changed"]:
            _unload(root, order["changed"])
        import pytest

        code = int(pytest.main(order["arguments"]))
        names = [name for name, module in list(sys.modules.items()) if _kept(root, name, module)]
        Path(used).write_text(json.dumps(names))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _kept(root: Path, name: str, module: object) -> bool:
    """Whether a module that a run has imported is imported in advance: it has a file, and is no test."""
    file = getattr(module, "__file__", None) or ""
    tests = (str(root / "tests"), str(root / "conftest.py"))
    return file.endswith(".py") and not file.startswith(tests) and name == getattr(module, "__name__", None)


def _sources(root: Path) -> dict[str, Path]:
    """The modules of the tree that are imported, with their files."""
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items() if name != "__main__"}
    return {name: Path(file) for name, file in files.items() if file and file.startswith(f"{root}{os.sep}")}


def _preload(root: Path, names: Iterable[str]) -> None:
    """Imports the modules, and notes what they import, so that no fork needs to."""
    for name in names:
        if name not in sys.modules:
            try:
                with redirect_stdout(sys.stderr):  # what a module prints is no answer
                    import_module(name)
            except Exception:  # whoever needs it imports it
                sys.modules.pop(name, None)
    for path in _sources(root).values():
        _imports(path)


def _unload(root: Path, changed: str) -> None:
    """Forgets the module of the changed file and those that import it, directly or not."""
    here = _sources(root)
    users = defaultdict(set)
    for name, path in here.items():
        names, dynamic = _imports(path)
        for used in names:
            users[used if used in here else used.rpartition(".")[0]].add(name)
        if dynamic:  # of its package, whatever it is
            for used in here:
                if used.startswith(f"{name.rpartition('.')[0]}.") and used != name:
                    users[used].add(name)
    waiting = [name for name, path in here.items() if path == root / changed]
    stale: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in stale:
            stale.add(name)
            waiting += users[name]
            waiting += [one for one in here if one.startswith(f"{name}.")]
    for name in stale:
        del sys.modules[name]
        package, _, own = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(own, None)  # or it would be imported from there


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, without what is for type checkers only."""
    yield tree
    if not (isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(tree):
            yield from _running(child)


@cache
def _imports(path: Path) -> tuple[set[str], bool]:
    """What a source imports: names of modules, or of what is in them; and whether it imports some by a computed name.

    (Packages that do so resolve names on first use only.)
    """
    names, dynamic = set(), False
    for node in _running(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        dynamic |= isinstance(node, ast.Name) and node.id in _DYNAMIC
    return names, dynamic and path.name != "__init__.py"


if __name__ == "__main__":
    serve()
