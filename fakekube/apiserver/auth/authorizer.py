"""The chain of authorizers (kube-apiserver's `--authorization-mode`; `authorizer/union`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fakekube.apiserver.auth import escalation, node, rbac
from fakekube.apiserver.auth.rbac import ALLOWED, DENIED, Decision
from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import together
from fakekube.struct import Struct

Decide = Callable[[Store, User, RequestInfo], Decision]


class Rules(Struct, frozen=True):
    """The rules that apply to a user in a namespace, and the errors in resolving them ("": none).

    `incomplete`: the user may do more than the rules allow.
    """

    rules: list[Object]
    problem: str = ""
    incomplete: bool = False


Resolve = Callable[[Store, User, str], Rules]

MODES = ("AlwaysAllow", "AlwaysDeny", "Node", "RBAC")

#: kube-apiserver's other modes.
UNSUPPORTED = ("ABAC", "Webhook")


class Authorizer(Struct, frozen=True):
    """The authorizers of some modes, in order: the first that allows a request decides."""

    modes: tuple[str, ...]
    decide: Decide
    rules_for: Resolve


def always_allow(store: Store, user: User, info: RequestInfo) -> Decision:
    return ALLOWED


def always_deny(store: Store, user: User, info: RequestInfo) -> Decision:
    return Decision(False, "Everything is forbidden.")


def with_node_mode(text: str) -> str:
    """The modes with which kubelets can work: the Node authorizer precedes RBAC."""
    modes = text.split(",")
    return ",".join(["Node", *modes]) if "RBAC" in modes and "Node" not in modes else text


def parse_modes(text: str) -> tuple[str, ...]:
    """Parses a list of modes (`Node,RBAC`). Raises ValueError for one that is unknown, unsupported or repeated."""
    modes = tuple(text.split(","))
    for mode in modes:
        if mode in UNSUPPORTED:
            raise ValueError(f'authorization-mode "{mode}" is not supported by this server')
        if mode not in MODES:
            raise ValueError(f'authorization-mode "{mode}" is not a valid mode')
        if modes.count(mode) > 1:
            raise ValueError(f'authorization-mode "{mode}" is specified more than once')
    return modes


def authorizer_of(modes: Sequence[str], node_rules: Sequence[Object]) -> Authorizer:
    """The authorizer of some modes. `node_rules`: what every kubelet may do (`bootstrappolicy.NodeRules`)."""
    decides = [_decide(mode, node_rules) for mode in modes]
    decide = decides[0] if len(decides) == 1 and modes[0] in ("AlwaysAllow", "RBAC") else partial(_union, decides)
    return Authorizer(tuple(modes), decide, partial(_rules, modes))


def _decide(mode: str, node_rules: Sequence[Object]) -> Decide:
    if mode == "Node":
        return partial(node.authorize, node_rules)
    return {"AlwaysAllow": always_allow, "AlwaysDeny": always_deny, "RBAC": rbac.authorize}[mode]


def _union(decides: Sequence[Decide], store: Store, user: User, info: RequestInfo) -> Decision:
    """Members of system:masters may do everything, in every mode."""
    if rbac.SUPERUSERS in user.groups:
        return ALLOWED
    reasons: list[str] = []
    for decide in decides:
        decision = decide(store, user, info)
        if decision.allowed:
            return decision
        if decision.reason:
            reasons.append(decision.reason)
    return Decision(False, "\n".join(reasons)) if reasons else DENIED


def _rules(modes: Sequence[str], store: Store, user: User, namespace: str) -> Rules:
    every = [_RESOLVERS[mode](store, user, namespace) for mode in modes]
    rules = [rule for one in every for rule in one.rules]
    return Rules(rules, together(one.problem for one in every if one.problem), any(one.incomplete for one in every))


def _rules_of_rbac(store: Store, user: User, namespace: str) -> Rules:
    problems: list[str] = []
    rules = [rule for _, rule in rbac.rules_for(store, user, namespace, problems)]
    return Rules(rules, together(problems))


def _rules_of_node(store: Store, user: User, namespace: str) -> Rules:
    return Rules([], node.NO_RULES, incomplete=True) if node.node_of(user) is not None else Rules([])


_RESOLVERS: Mapping[str, Resolve] = {
    "AlwaysAllow": lambda store, user, namespace: Rules(list(escalation.FULL_AUTHORITY)),
    "AlwaysDeny": lambda store, user, namespace: Rules([]),
    "Node": _rules_of_node,
    "RBAC": _rules_of_rbac,
}
