"""The command line: `fakekube serve` and `fakekube run`. Large modules are imported by the commands that use them."""

from __future__ import annotations

import asyncio
import signal
import stat
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from fakekube.apiserver.features import RECORDED
from fakekube.commandoptions import (
    CONTROLLERS,
    LOG_FORMAT,
    NODES,
    STAGES,
    as_arguments,
    known_atoms,
    known_version,
    server_options,
)
from fakekube.control.snapshotcommand import snapshot
from fakekube.lint.command import lint
from fakekube.pythongarbage import starting
from fakekube.server.process.listening import LOOPBACK, CannotServe, taken

if TYPE_CHECKING:
    from fakekube.commandserver import Served
    from fakekube.server.standalone import Options, Running

T = TypeVar("T")

#: Seconds in which further signals are copies of the first.
COPIES = 0.2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fakekube")
def main() -> None:
    """A Kubernetes API server for tests."""


@main.command()
@click.option(
    "--port",
    default=8001,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 selects a free port.",
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Write a kubeconfig for this server to FILE.", metavar="FILE"
)
@server_options
def serve(**options: Any) -> None:
    """Serve the Kubernetes API until interrupted."""

    async def work() -> None:
        await _served(options, partial(_serve, _stop_signals()))

    _finished(work, options["clock"])


@main.command(context_settings={"ignore_unknown_options": True})
@server_options
@click.option(
    "--findings",
    type=click.Choice(["warn", "error", "off"]),
    default="warn",
    show_default=True,
    help="What to do about defects of clients that their requests show: print them, also fail, nothing.",
)
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write the result and the findings as JUnit XML."
)
@click.option(
    "--timeline", type=click.Path(path_type=Path), metavar="FILE", help="Write what happened as an HTML page."
)
@click.option(
    "--rbac-report",
    multiple=True,
    metavar="USER=FILE",
    help="Write the least roles that would do for what a user did, as YAML. May be repeated.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(command: tuple[str, ...], **options: Any) -> None:
    """Run COMMAND against a fresh server, with KUBECONFIG set, and return its status.

    Example: fakekube run --manifests deploy/ -- ./smoke.sh
    """
    from fakekube.server.process.child import Signals

    reports: dict[str, Any] = {name: options.pop(name) for name in ("findings", "junit", "timeline", "rbac_report")}

    async def work() -> int:
        signals = Signals()  # before anything else, so that none is lost

        async def then(found: Served) -> int:
            from fakekube.commandserver import run as run_command
            from fakekube.control.runreport import Reports, files_of

            wanted = Reports(
                reports["findings"], reports["junit"], reports["timeline"], files_of(reports["rbac_report"])
            )
            return await run_command(command, signals, wanted, found)

        return await _served(options, then, reports=True)

    sys.exit(_finished(work, options["clock"]))


@main.command()
@click.option(
    "--setup",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File or directory of manifests that are there before the process starts. May be repeated.",
)
@click.option("--start", required=True, metavar="COMMAND", help="Command of the shell that starts the process.")
@click.option(
    "--agent", default="*", show_default=True, help="User-Agent of its requests, a shell pattern; default: all clients."
)
@click.option(
    "--after",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File or directory of what is applied, a file at a time, when the process is at rest; *delete.yaml deletes.",
)
@click.option("--quiet", default="3s", show_default=True, help="At rest is a cluster in which so long nothing changes.")
@click.option("--within", default="60s", show_default=True, help="Time in which the process must come to rest.")
@click.option(
    "--patience", default="30s", show_default=True, help="Time that is left to the process after a fault to try again."
)
@click.option("--budget", default=50, show_default=True, type=click.IntRange(1), help="Number of runs with a fault.")
@click.option(
    "--atoms",
    default="crash,down,pause,503,cut",
    show_default=True,
    callback=known_atoms,
    help="Faults that are tried, separated by commas.",
)
@click.option("--stop-at-first", is_flag=True, help="End after the first failure.")
@click.option(
    "--report",
    default=".fakekube-explore",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Directory for the scripts that repeat failures.",
)
@CONTROLLERS
@NODES
@STAGES
@LOG_FORMAT
@click.option(
    "--kubernetes-version",
    default=RECORDED,
    show_default=True,
    callback=known_version,
    help="Kubernetes minor version to serve.",
)
def explore(**options: Any) -> None:
    """Run a process again and again, each time with one fault at one of its writes, and compare what it leaves.

    Example: fakekube explore --setup crds/ --start ./operator --after samples/
    """
    from fakekube.processexploration.faultplans import FIELDS

    explored = {name: options.pop(name) for name in FIELDS}
    options["manifests"] = options.pop("setup")
    arguments = as_arguments({name: value for name, value in options.items() if name != "log_format"})
    options |= {"bind_address": "127.0.0.1", "clock": "real", "control": "on", "verbose": 0}

    async def work() -> int:
        stop = _stop_signals()

        async def then(found: Served) -> int:
            from fakekube.processexploration.explorecommand import Explored
            from fakekube.processexploration.explorecommand import explore as explore_process

            status = await _until(stop, explore_process(Explored(**explored), arguments, found))
            return 128 + signal.SIGINT if status is None else status

        return await _served(options, then)

    sys.exit(_finished(work))


@main.command()
@click.option(
    "--kubeconfig",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The cluster, and the user of all requests.",
    metavar="FILE",
)
@CONTROLLERS
@NODES
@STAGES
@LOG_FORMAT
def controllers(
    kubeconfig: Path,
    controllers: tuple[str, ...],
    nodes: int | None,
    stages: tuple[Path, ...],
    log_format: Literal["text", "json"],
) -> None:
    """Run the cluster's own controllers against a cluster until interrupted, as kube-controller-manager does.

    Example: fakekube controllers --kubeconfig F --controllers '*'
    """
    _logged(log_format)
    _finished(lambda: _controllers(kubeconfig, controllers, nodes, stages))


main.add_command(lint)
main.add_command(snapshot)


def _finished(work: Callable[[], Coroutine[Any, Any, T]], clock: str = "real") -> T:
    """Run `work` in a mode of the clock; reports CannotServe as an error of the command line."""
    from fakekube.server.process.pacedloop import PacedLoop, rate_of

    async def to_its_end() -> T:
        try:
            return await work()
        finally:
            _ignore_signals()

    try:
        with asyncio.Runner(loop_factory=partial(PacedLoop, rate_of(clock))) as runner:
            return runner.run(to_its_end())
    except CannotServe as error:
        raise click.ClickException(str(error)) from None


def _logged(log_format: Literal["text", "json"]) -> None:
    """Write errors to standard error until the command ends."""
    from fakekube.server.process import serverlog

    click.get_current_context().call_on_close(serverlog.configure(log_format))


async def _served(
    options: dict[str, Any], then: Callable[[Served], Coroutine[Any, Any, T]], *, reports: bool = False
) -> T:
    """Serve what the options select, and call `then`. The address is taken before the large modules are imported."""
    sock = taken(options["bind_address"], options.get("port", 0))
    with ExitStack() as start:
        start.enter_context(starting())
        from fakekube.commandserver import Selected, served
        from fakekube.server.standalone import Options

        del options["clock"]
        selected = Selected(**{name: options.pop(name) for name in Selected._fields})
        _logged(selected.log_format)
        return await served(Options(**options), selected, sock, then, started=start.close, reports=reports)


def _stop_signals() -> asyncio.Event:
    """An event that SIGINT, SIGTERM and SIGHUP set from now on. A second signal ends the process at once.

    An ignored SIGHUP stays ignored (nohup). A copy of the first signal, as `timeout` sends it, is not a second one.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    first: list[float] = []

    def received(number: signal.Signals) -> None:
        stop.set()
        first.append(loop.time())
        if first[-1] - first[0] >= COPIES:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, received, number)
    return stop


def _ignore_signals() -> None:
    """From now on nothing is left to stop: the copy of a signal that comes late must not change the exit status."""
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # without a handler they would end the process
    for number in numbers:
        if loop.remove_signal_handler(number):
            signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


async def _until(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`; None if `stop` was set first, and the work is cancelled."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    done, waiting = await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting)
    return working.result() if working in done else None


async def _controllers(kubeconfig: Path, names: Sequence[str], nodes: int | None, stages: Sequence[Path]) -> None:
    from fakekube.controllers.realtime import against

    stop = _stop_signals()
    click.echo(f"running controllers against {kubeconfig}; press Ctrl-C to stop")
    sys.stdout.flush()
    await _until(stop, against(kubeconfig, names or ("*",), nodes, stages))


async def _serve(stop: asyncio.Event, found: Served) -> None:
    from fakekube.controllers.catalogue import selection

    names = [one.name for one in selection(found.selected.controllers, found.selected.nodes)]
    click.echo(f"ready {found.running.server.url}")
    for line in _greeting(found.running, found.options, names):
        click.echo(line)
    sys.stdout.flush()
    await stop.wait()
    click.echo("stopping")


def _greeting(found: Running, options: Options, controllers: Sequence[str]) -> list[str]:
    url, version = found.server.url, found.server.runner.apiserver.version["gitVersion"]
    lines = [f"fakekube serves the Kubernetes API {version} at {url}"]
    manifests = ", ".join(map(str, options.manifests))
    if found.loaded:
        lines.append(f"  loaded {found.loaded} objects from {manifests}")
    elif manifests:
        lines.append(f"  {manifests}: not loaded, because {options.data_dir} has a cluster already")
    if options.kubeconfig and found.ca is None and options.authorization_mode != "AlwaysAllow":
        lines.append(
            f"  {options.kubeconfig} has a token, which kubectl does not send over plain HTTP: add --tls for kubectl"
        )
    elif options.kubeconfig:
        lines.append(f"  kubectl --kubeconfig {options.kubeconfig} get namespaces")
    elif found.ca is None and not found.token:
        lines.append(f"  kubectl --server {url} get namespaces")
    else:
        content = "the certificate authority and credentials" if found.ca is not None else "a token"
        lines.append(f"  use --kubeconfig FILE to write a kubeconfig with {content}")
    if options.bind_address not in LOOPBACK and options.authorization_mode == "AlwaysAllow":
        lines.append("  warning: all requests to this address are allowed")
    if options.token_auth_file:
        lines += _token_file_warnings(options.token_auth_file, options.authorization_mode)
    if controllers and "kubelet" not in controllers:
        lines.append("  no nodes: pods stay Pending; --nodes 2 simulates two nodes, with a scheduler and kubelets")
    lines.append("  press Ctrl-C to stop")
    return lines


def _token_file_warnings(path: Path, mode: str) -> list[str]:
    lines = []
    if mode == "AlwaysAllow":
        lines.append("  warning: requests without a token are allowed, too; --authorization-mode RBAC checks access")
    else:
        lines.append("  requests without a token are those of system:anonymous")
    if path.is_file() and path.stat().st_mode & stat.S_IROTH:
        lines.append(f"  warning: {path} is readable by every user of this machine (chmod 600 {path})")
    return lines
