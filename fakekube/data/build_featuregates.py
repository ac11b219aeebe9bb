"""Generates `feature-gates.json` from checkouts of Kubernetes. Run
`python -m fakekube.data.build_featuregates 1.25=FOLDER 1.26=FOLDER ...`, with the folder of each minor version.

A folder contains `pkg` and either `staging/src/k8s.io` or `vendor/k8s.io`. The result maps the name of each gate of
kube-apiserver to its rows [first minor version, stage, default, locked], one for each version in which they changed;
[minor version] alone: the gate was removed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("feature-gates.json")

#: The files that register gates with kube-apiserver, below `pkg` and below the folder of the other modules.
OWN = ("features/*.go",)
STAGED = (
    "apiserver/pkg/features/*.go",
    "apiextensions-apiserver/pkg/features/*.go",
    "component-base/logs/api/v1/kube_features.go",
    "component-base/metrics/features/*.go",
    "component-base/zpages/features/*.go",
    "client-go/features/known_features.go",
)
_NAME = re.compile(r"(\w+)\s+(?:featuregate\.)?Feature\s*=\s*\"(\w+)\"")
_ENTRY = re.compile(r"^\t([\w.]+):\s*\{")
_SPEC = re.compile(r"Default:\s*(true|false),\s*PreRelease:\s*(?:featuregate\.)?(\w+)(,\s*LockToDefault:\s*true)?")
_VERSION = re.compile(r"Version:\s*version\.MustParse\(\"(\d+)\.(\d+)\"\)")


def _files(root: Path) -> Iterator[Path]:
    staged = next(one for one in (root / "staging/src/k8s.io", root / "vendor/k8s.io", root) if (one / "api").is_dir())
    for base, patterns in ((root / "pkg", OWN), (staged, STAGED)):
        for pattern in patterns:
            yield from (one for one in sorted(base.glob(pattern)) if not one.name.endswith("_test.go"))


def gates_of(root: Path, minor: tuple[int, int]) -> dict[str, tuple[str, bool, bool]]:
    """The gates of a version: name -> stage, default, whether it is locked."""
    found: dict[str, tuple[str, bool, bool]] = {}
    names: dict[str, str] = {}
    name: str | None = None
    texts = [one.read_text() for one in _files(root) if "openshift" not in one.name]
    for text in texts:
        names |= dict(_NAME.findall(text))
    for line in "\n".join(texts).splitlines():
        if entry := _ENTRY.match(line):
            name = names.get(entry[1].rpartition(".")[2])
        spec, version = _SPEC.search(line), _VERSION.search(line)
        if name and spec and not (version and (int(version[1]), int(version[2])) > minor):
            found[name] = (spec[2], spec[1] == "true", bool(spec[3]))
        if line.startswith("}"):
            name = None
    return found


def table(folders: dict[tuple[int, int], Path]) -> dict[str, list[list[Any]]]:
    rows: dict[str, list[list[Any]]] = {}
    for minor, folder in sorted(folders.items()):
        text = f"{minor[0]}.{minor[1]}"
        gates = gates_of(folder, minor)
        for name in sorted({*gates, *rows}):
            known = rows.setdefault(name, [])
            now = list(gates[name]) if name in gates else []
            if (known[-1][1:] if known else []) != now:
                known.append([text, *now])
    return {name: rows[name] for name in sorted(rows)}


def main() -> None:
    folders = {}
    for argument in sys.argv[1:]:
        version, _, folder = argument.partition("=")
        major, _, minor = version.partition(".")
        folders[int(major), int(minor)] = Path(folder)
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(one)}" for name, one in table(folders).items())
    TARGET.write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
