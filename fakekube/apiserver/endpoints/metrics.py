"""`/metrics`, in the Prometheus text format (`component-base/metrics`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fakekube.apiserver.call import Server
from fakekube.apiserver.response import Response, Text

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Sample = tuple[Mapping[str, str], int | float]


def answer(server: Server) -> Response:
    return Response(body=Text("".join(_families(server))), content_type=CONTENT_TYPE)


def _families(server: Server) -> Iterable[str]:
    build = {
        "build_date": "buildDate",
        "compiler": "compiler",
        "git_commit": "gitCommit",
        "git_tree_state": "gitTreeState",
        "git_version": "gitVersion",
        "go_version": "goVersion",
        "major": "major",
        "minor": "minor",
        "platform": "platform",
    }
    version = {label: str(server.version.get(key, "")) for label, key in build.items()}
    yield family("kubernetes_build_info", "gauge", "What is running.", [(version, 1)])
    counts = sorted(server.store.sizes().items())
    for name in ("apiserver_resource_objects", "apiserver_storage_objects"):
        samples: list[Sample] = [({"resource": resource}, count) for resource, count in counts]
        yield family(name, "gauge", "How many objects are stored, by resource.", samples)
    revision: list[Sample] = [({}, server.store.revision)]
    yield family("fakekube_storage_revision", "gauge", "The revision of the last write.", revision)


def family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> str:
    """A metric family with its samples, one per line."""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        shown = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels.items())
        lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")
    return "\n".join([*lines, ""])
