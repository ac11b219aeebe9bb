"""`/metrics`, in the Prometheus text format (`component-base/metrics`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fakekube.apiserver import flowcontrol
from fakekube.apiserver.call import Server
from fakekube.apiserver.endpoints import health
from fakekube.apiserver.features import ALPHA, BETA, DEPRECATED, GA
from fakekube.apiserver.response import Response, Text

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

#: The stages of gates as the metric names them (`featuregate.prerelease`).
STAGES = {ALPHA: "ALPHA", BETA: "BETA", GA: "", DEPRECATED: "DEPRECATED"}

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
    gates: list[Sample] = [
        ({"name": one.name, "stage": STAGES[one.stage]}, int(server.features.states[one.name]))
        for one in server.features.gates
    ]
    about = "[BETA] This metric records the data about the stage and enablement of a k8s feature."
    yield family("kubernetes_feature_enabled", "gauge", about, gates)
    counts = sorted(server.store.sizes().items())
    for name in ("apiserver_resource_objects", "apiserver_storage_objects"):
        samples: list[Sample] = [({"resource": resource}, count) for resource, count in counts]
        yield family(name, "gauge", "How many objects are stored, by resource.", samples)
    yield from _flow_control(server)
    revision: list[Sample] = [({}, server.store.revision)]
    yield family("fakekube_storage_revision", "gauge", "The revision of the last write.", revision)
    for more in server.more_metrics:
        yield from more()


_SEATS = {
    "current": "current derived number of execution seats available to each priority level",
    "lower": "Configured lower bound on number of execution seats available to each priority level",
    "nominal": "Nominal number of execution seats configured for each priority level",
    "upper": "Configured upper bound on number of execution seats available to each priority level",
}


def _flow_control(server: Server) -> Iterable[str]:
    dispatched: list[Sample] = [
        ({"flow_schema": schema, "priority_level": level}, count)
        for (schema, level), count in sorted(server.store.derived(flowcontrol.Classifier).dispatched.items())
    ]
    about = "Number of requests executed by API Priority and Fairness subsystem"
    yield family("apiserver_flowcontrol_dispatched_requests_total", "counter", about, dispatched)
    seats = flowcontrol.seats(server.store)
    for limit, about in _SEATS.items():
        samples: list[Sample] = [({"priority_level": name}, getattr(one, limit)) for name, one in seats.items()]
        yield family(f"apiserver_flowcontrol_{limit}_limit_seats", "gauge", about, samples)


def slis() -> Response:
    """`/metrics/slis`: the result of each health check (`component-base/metrics/prometheus/slis`)."""
    results: list[Sample] = [
        ({"name": check, "type": path}, 1)
        for check, path in sorted((check, path) for path, checks in health.CHECKS.items() for check in checks)
    ]
    totals: list[Sample] = [
        ({"name": labels["name"], "status": "success", "type": labels["type"]}, 1) for labels, _ in results
    ]
    about = "[STABLE] This metric records the result{} healthcheck."
    families = (
        family("kubernetes_healthcheck", "gauge", about.format(" of a single"), results),
        family("kubernetes_healthchecks_total", "counter", about.format("s of all"), totals),
    )
    return Response(body=Text("".join(families)), content_type=CONTENT_TYPE)


def family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> str:
    """A metric family with its samples, one per line."""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        shown = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels.items())
        lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")
    return "\n".join([*lines, ""])
