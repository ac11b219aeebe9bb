"""The keyword arguments that FakeKube passes on: types for a type checker, checks for everybody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_origin, get_type_hints

from fakekube.apiserver.faults.rule import BrokenBody, Reset
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.clustersettings import suggestion
from fakekube.virtualtime import Duration

if TYPE_CHECKING:
    import ssl

    from controllerlib import ControllerOptions, LeaderElection
    from controllerlib.cache import CacheOptions, InformerOptions, Selection
    from controllerlib.metrics import Registry


class Match(TypedDict, total=False):
    """Which requests a fault affects; see `fakekube.harness.face.Cluster.fault`."""

    resource: str
    name: str
    namespace: str
    user_agent: str
    after: int
    times: int | None
    share: float
    unrealistic: bool


class Fault(Match, total=False):
    """The arguments of `fault`."""

    verb: str
    subresource: str
    error: int
    committed: bool
    delay: Duration
    reset: Reset
    before: Callable[[], object]
    stale: int | str


class WatchFault(Match, total=False):
    """The arguments of `faults.disturb_watches`."""

    cut_after: int
    cut_at: str
    hold_after: int
    gone_after: int
    delay: Duration
    reset: Literal["", "after"]


class BodyFault(Match, total=False):
    """The arguments of `faults.damage_bodies`."""

    verb: str
    subresource: str
    body: BrokenBody
    delay: Duration


class WebhookFault(TypedDict, total=False):
    """The arguments of `faults.fail_webhooks`."""

    refused: bool
    delay: Duration
    after: int
    times: int | None
    share: float


class NodeOptions(TypedDict, total=False):
    """The options of a simulated node; see `fakekube.controllers.nodespec.NodeSpec`."""

    cpu: str | int | float
    memory: str | int
    pods: int
    storage: str | int
    resources: Mapping[str, str | int]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: Sequence[Mapping[str, Any] | str]
    lease_duration: int


class RequestFields(TypedDict, total=False):
    """The fields of `fakekube.RequestRecord`; a text may be a shell pattern."""

    at: float
    verb: str
    resource: str
    group: str
    namespace: str
    name: str
    subresource: str
    user: str
    user_agent: str
    code: int
    reason: str
    path: str
    revision: int
    trace: str
    message: str
    serial: int


class EventFields(TypedDict, total=False):
    """The fields of an Event (core/v1)."""

    action: str
    count: int
    eventTime: str | None
    firstTimestamp: str | None
    involvedObject: Mapping[str, Any]
    lastTimestamp: str | None
    message: str
    metadata: Mapping[str, Any]
    reason: str
    related: Mapping[str, Any]
    reportingComponent: str
    reportingInstance: str
    series: Mapping[str, Any]
    source: Mapping[str, Any]
    type: str


class DeleteOptions(TypedDict, total=False):
    """The fields of DeleteOptions (meta/v1)."""

    dryRun: list[str]
    gracePeriodSeconds: int
    ignoreStoreReadErrorWithClusterBreakingPotential: bool
    orphanDependents: bool
    preconditions: Mapping[str, str]
    propagationPolicy: str


class ManagerOptions(TypedDict, total=False):
    """The arguments of `controllerlib.Manager`, except for those that the cluster sets."""

    user_agent: str
    sync_period: Duration
    sync_period_jitter: float
    namespaces: Mapping[str, Selection] | tuple[str, ...]
    cache: CacheOptions | None
    informers: InformerOptions | None
    controllers: ControllerOptions | None
    group_kind_concurrency: Mapping[str, int] | None
    handlers_after_sync: bool
    graceful_shutdown_timeout: float
    election: LeaderElection | None
    registry: Registry | None
    skip_handler_failures: bool
    metrics_bind_address: str
    metrics_tls: ssl.SSLContext | None
    health_probe_bind_address: str
    liveness_endpoint: str
    readiness_endpoint: str


#: The fields of a RequestRecord that are text; all others are numbers.
_TEXT_FIELDS = frozenset(name for name, kind in get_type_hints(RequestRecord).items() if kind is str)


_EVENT_KINDS: dict[Any, tuple[type, str]] = {int: (int, "a number"), Mapping: (Mapping, "a mapping")}

#: The types of the fields of an Event, and what they are called.
_EVENT_FIELDS: dict[str, tuple[type, str]] = {
    name: _EVENT_KINDS.get(get_origin(kind) or kind, (str, "a text"))
    for name, kind in get_type_hints(EventFields).items()
}


def check_names(caller: str, given: Mapping[str, Any], accepted: type, *own: str) -> None:
    """Raises TypeError for names that a TypedDict does not have. `own`: what `caller` accepts beside them."""
    names = sorted([*accepted.__annotations__, *own])
    if unknown := sorted(given.keys() - accepted.__annotations__.keys()):
        shown = f"{', '.join(unknown)}{suggestion(unknown, names)}"
        raise TypeError(f"{caller}() has no argument {shown} (accepted: {', '.join(names)})")


def check_event_fields(wanted: Mapping[str, Any]) -> None:
    """Raises TypeError for a field that an Event does not have, or a value of another type than the field's.

    None is accepted for any field: Events without it.
    """
    check_names("events", wanted, EventFields)
    for name, value in wanted.items():
        kinds, kind = _EVENT_FIELDS[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise TypeError(f"events({name}={value!r}): {name} is {kind}, not {type(value).__name__}")


def check_request_fields(wanted: Mapping[str, Any]) -> None:
    """Raises TypeError for a field that a RequestRecord does not have, or a value of another type than the field's."""
    check_names("requests", wanted, RequestFields)
    for name, value in wanted.items():
        is_text = name in _TEXT_FIELDS
        if isinstance(value, bool) or not isinstance(value, str if is_text else int | float):
            kind = "a text" if is_text else "a number"
            raise TypeError(f"requests({name}={value!r}): {name} is {kind}, not {type(value).__name__}")
