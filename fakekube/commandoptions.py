"""The options of the commands that start servers, and the checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fakekube.apiserver.features import RECORDED
from fakekube.apiserver.versions import UnknownVersion
from fakekube.clustersettings import SETTINGS, text_of


def known_version(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from fakekube.server import bootstrap

    try:
        return bootstrap.version_of(value)
    except UnknownVersion as problem:
        raise click.BadParameter(str(problem)) from None


def _known_mode(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from fakekube.server.process.pacedloop import rate_of

    try:
        rate_of(value)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from None
    return value


def _known_modes(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from fakekube.apiserver.auth.authorizer import parse_modes

    try:
        parse_modes(value)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from None
    return value


def _known_controllers(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from fakekube.controllers.catalogue import select

    names = _split(values)
    try:
        select(names)
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from None
    return names


def known_atoms(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    from fakekube.processexploration.faultplans import CHOICES

    names = _split((value,))
    if unknown := [one for one in names if one not in CHOICES]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(CHOICES)}")
    return names


def as_arguments(options: Mapping[str, Any]) -> list[str]:
    """Options as arguments of a command that is run in any directory."""
    return [
        f"--{name.replace('_', '-')}={one.resolve() if isinstance(one, Path) else one}"
        for name, value in options.items()
        for one in (value if isinstance(value, tuple) else () if value is None else (value,))
    ]


def _readable_stages(context: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Files of stages, which are read once to report problems before the server starts."""
    for path in paths:
        from fakekube.controllers.kubelet.stagedocument import stages_of

        try:
            stages_of(path)
        except (ValueError, OSError) as problem:
            raise click.BadParameter(f"{path}: {problem}") from None
    return paths


def _names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return _split(values)


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    """The names of an option that may be repeated and whose values are separated by commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


CONTROLLERS = click.option(
    "--controllers",
    multiple=True,
    callback=_known_controllers,
    help=f"{text_of('controllers')} Separated by commas; may be repeated.",
)

NODES = click.option(
    "--nodes",
    type=click.IntRange(0),
    help=f"{text_of('nodes')} With RBAC, the Node authorizer is on, too.",
)

STAGES = click.option(
    "--stages",
    multiple=True,
    callback=_readable_stages,
    type=click.Path(path_type=Path),
    help="File of stages: what the containers of simulated pods do. May be repeated.",
    metavar="FILE",
)

LOG_FORMAT = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the lines on standard error.",
)

_SERVER_OPTIONS = (
    CONTROLLERS,
    NODES,
    STAGES,
    click.option("--bind-address", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--token-auth-file",
        type=click.Path(path_type=Path),
        help='CSV of bearer tokens: token,user,uid,"group1,group2".',
    ),
    click.option(
        "--authorization-mode",
        default="AlwaysAllow",
        show_default=True,
        callback=_known_modes,
        help="Authorizers, in order and separated by commas: AlwaysAllow, AlwaysDeny, Node, RBAC.",
    ),
    click.option(
        "--manifests",
        multiple=True,
        type=click.Path(path_type=Path),
        help="File or directory of manifests to load at start. May be repeated.",
    ),
    click.option(
        "--client-ca-file",
        type=click.Path(path_type=Path),
        help="CA certificates for client certificates; the common name is the user, organizations are groups.",
    ),
    click.option(
        "--enable-admission-plugins",
        multiple=True,
        callback=_names,
        help=f"{text_of('enable_admission_plugins')} Separated by commas.",
    ),
    click.option(
        "--disable-admission-plugins",
        multiple=True,
        callback=_names,
        help=f"{text_of('disable_admission_plugins')} Separated by commas.",
    ),
    click.option(
        "--feature-gates",
        multiple=True,
        metavar="NAME=BOOL",
        help=f"{text_of('feature_gates')} Separated by commas; may be repeated.",
    ),
    click.option(
        "--service-account-issuer",
        multiple=True,
        help="Issuer of service account tokens; the first one signs. May be repeated.",
    ),
    click.option(
        "--service-account-signing-key-file",
        type=click.Path(path_type=Path),
        help="PEM private key that signs service account tokens; default: a new key.",
    ),
    click.option(
        "--service-account-key-file",
        multiple=True,
        type=click.Path(path_type=Path),
        help="PEM key that verifies service account tokens; default: the signing key. May be repeated.",
    ),
    click.option(
        "--api-audiences",
        multiple=True,
        callback=_names,
        help="Audiences of the server, separated by commas; default: the issuers.",
    ),
    click.option("--tls", is_flag=True, help="Serve HTTPS with a newly created certificate authority."),
    click.option(
        "--tls-san", multiple=True, metavar="NAME", help="Further name or address in the server's certificate."
    ),
    click.option(
        "--user",
        multiple=True,
        metavar="NAME[=GROUP,...]",
        help="User with a token and a context NAME in the kubeconfig. May be repeated.",
    ),
    click.option(
        "--wait-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File that appears, with the URL, when the server is ready; it is removed at the end.",
    ),
    click.option(
        "--clock",
        default="real",
        show_default=True,
        callback=_known_mode,
        metavar="real|x60|stepped",
        help="How time passes for the server, its controllers and nodes; the control API moves a stepped clock.",
    ),
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Directory that keeps the state; manifests are loaded into a new one only.",
    ),
    click.option(
        "--fsync",
        type=click.Choice(["off", "commit"]),
        default="off",
        show_default=True,
        help="What --data-dir survives: the end of the process (off), or a loss of power (commit).",
    ),
    click.option(
        "--faults",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Faults that are armed at the start, as YAML or JSON: a list of what POST /faults takes.",
    ),
    click.option(
        "--audit-policy-file",
        type=click.Path(path_type=Path),
        help="Audit policy: which requests are in the audit log, and how much of them.",
    ),
    click.option(
        "--audit-log-path", type=click.Path(path_type=Path), help="File of the audit log; - is the standard output."
    ),
    click.option(
        "--control",
        type=click.Choice(["on", "off"]),
        default="on",
        show_default=True,
        help="Serve the control API at /_fakekube/v1; beyond this machine with the administrator's token only.",
    ),
    click.option(
        "-v",
        "--verbose",
        count=True,
        help="A line on standard error for each request; -vv: also for those of the cluster's own controllers.",
    ),
    LOG_FORMAT,
    click.option(
        "--service-cluster-ip-range",
        default=SETTINGS["service_cluster_ip_range"].default,
        show_default=True,
        metavar="CIDR[,CIDR]",
        help=text_of("service_cluster_ip_range"),
    ),
    click.option(
        "--webhook-service",
        multiple=True,
        metavar="NAMESPACE/NAME=URL",
        help="Reach the webhooks and aggregated APIs of a Service at URL (https://127.0.0.1:9443). May be repeated.",
    ),
    click.option(
        "--history-window",
        default=SETTINGS["history_window"].default,
        show_default=True,
        type=click.IntRange(1),
        help=f"{text_of('history_window')} Older ones get 410 Gone.",
    ),
    click.option(
        "--kubernetes-version",
        default=RECORDED,
        show_default=True,
        callback=known_version,
        help="Kubernetes minor version to serve.",
    ),
)


def server_options(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(_SERVER_OPTIONS):
        command = option(command)
    return command
