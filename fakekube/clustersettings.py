"""The settings of a cluster: one table for FakeKube, the marker, ini values, options of pytest and `fakekube serve`.

Every pytest run imports this module, so it imports little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def _setting(default: Any, text: str, *, ini: str = "", flag: str = "", portable: bool = False) -> Any:
    """A field. `ini`: the type of its ini value, which it has as an option of pytest, too. `flag`: the option of
    `fakekube serve`. `portable`: it means nothing to a real cluster, where tests that set it are not skipped."""
    return field(default=default, metadata={"text": text, "ini": ini, "flag": flag, "portable": portable})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The settings of a cluster; see the text of each field."""

    seed: int | str = _setting(
        0, "Source of all randomness; a test's is derived from its name.", ini="string", portable=True
    )
    version: str | None = _setting(
        None, 'Kubernetes minor version to serve, like "1.31", from 1.25 on.', ini="string", flag="--kubernetes-version"
    )
    controllers: Sequence[str] = _setting(
        (),
        'The cluster\'s own controllers that run, by name: "*" for those of kube-controller-manager, "-NAME" to leave '
        "one out.",
        ini="args",
        flag="--controllers",
    )
    nodes: int | None = _setting(
        None, "Number of simulated nodes, with the scheduler and the kubelet.", ini="string", flag="--nodes"
    )
    rbac: bool = _setting(False, "Whether access is checked, with the bootstrap roles.", ini="bool", portable=True)
    stepped: bool | None = _setting(
        None,
        "Whether reconciles run only when the test settles or moves time (None: in sync tests, not in async ones).",
        portable=True,
    )
    wall_clock: bool | Literal["freezegun", "time-machine"] = _setting(
        True,
        "Whether `datetime.now()`, `time.time()` and `time.sleep()` of the code under test read virtual time; "
        '"time-machine" makes them do so with that library instead of freezegun.',
        portable=True,
    )
    transport: Literal["direct", "memory", "tcp"] = _setting(
        "direct",
        "How operators of `start` reach the server: by function calls, by HTTP through a pipe, by HTTP through the "
        "kernel.",
        portable=True,
    )
    detect: Mapping[str, str] | None = _setting(
        None,
        'Levels of detectors, "error", "warn" or "off": `{"noop-write": "off"}`; "all" sets all others.',
        ini="args",
        portable=True,
    )
    history_window: int = _setting(
        20_000, "Number of changes that watches can resume from.", flag="--history-window", portable=True
    )
    patience: float = _setting(
        30.0, "Real seconds after which a busy thread, task or connection is an error.", portable=True
    )
    service_cluster_ip_range: str = _setting(
        "10.0.0.0/12",
        "Range of the addresses of Services; two ranges of different families for dual stack.",
        flag="--service-cluster-ip-range",
    )
    authorization_mode: str | None = _setting(
        None,
        'Authorizers, in order and separated by commas, like "Node,RBAC"; `rbac=True` is short for "RBAC".',
        flag="--authorization-mode",
    )
    enable_admission_plugins: Sequence[str] = _setting(
        (),
        "Admission plugins to enable beside the default ones; off by default are NodeRestriction and ServiceAccount.",
        flag="--enable-admission-plugins",
    )
    disable_admission_plugins: Sequence[str] = _setting(
        (), "Admission plugins to disable.", flag="--disable-admission-plugins"
    )
    feature_gates: Mapping[str, bool] | None = _setting(
        None,
        "Feature gates of kube-apiserver that are on or off, by name; the others are as in the version served.",
        flag="--feature-gates",
    )
    real_connections: bool = _setting(
        False,
        "Whether code under test may connect to other machines, and to clusters of the developer's kubeconfig.",
        ini="bool",
        portable=True,
    )


#: The fields by name.
SETTINGS: Mapping[str, Field[Any]] = {one.name: one for one in fields(ClusterSettings)}


def text_of(name: str) -> str:
    """What a setting means."""
    found: str = SETTINGS[name].metadata["text"]
    return found


def marker_signature(**more: object) -> str:
    """The arguments of the marker with their defaults; `more`: arguments that only the marker has."""
    known = {name: one.default for name, one in SETTINGS.items()}
    known["seed"] = None  # that of a test is derived from its name
    return ", ".join(f"{name}={default!r}" for name, default in {**known, **more}.items())


def suggestion(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Which of the `known` names may be meant, as the end of a message: `: did you mean 'rbac'?`, or nothing."""
    from difflib import get_close_matches

    names = list(known)
    near = [repr(found) for name in unknown for found in get_close_matches(name, names, n=1, cutoff=0.7)]
    return f": did you mean {', '.join(near)}?" if near else ""


def built_from(make: Callable[P, S]) -> Callable[[Callable[[T, S], None]], Callable[Concatenate[T, P], None]]:
    """Let an `__init__` that takes one value be called with the arguments that the value is made from."""

    def decorate(initialize: Callable[[T, S], None]) -> Callable[Concatenate[T, P], None]:
        accepted = signature(make).parameters

        def __init__(self: T, /, *args: P.args, **options: P.kwargs) -> None:  # noqa: N807
            if unknown := sorted(options.keys() - accepted.keys()):
                names = f"{', '.join(unknown)}{suggestion(unknown, accepted)}"
                raise TypeError(f"{type(self).__name__}() has no argument {names} (accepted: {', '.join(accepted)})")
            initialize(self, make(*args, **options))

        own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__doc__ = initialize.__doc__
        __init__.__signature__ = Signature([own, *accepted.values()])  # type: ignore[attr-defined]
        return __init__

    return decorate
