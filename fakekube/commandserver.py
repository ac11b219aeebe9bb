"""Serves what the options of the command line select, with controllers and control API, until a command ends."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from fakekube.apiserver.wire.status import StatusError
from fakekube.control import runreport
from fakekube.control.api import ControlApi
from fakekube.control.guard import Guard
from fakekube.control.runreport import Ended, Reports
from fakekube.control.steering import Beside as SteeredBeside
from fakekube.control.steering import Steering
from fakekube.controllers.realtime import cluster, unsteered
from fakekube.harness import accessreport
from fakekube.server.process.child import CannotRun, Signals
from fakekube.server.process.listening import LOOPBACK, CannotServe, reason
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.server.process.serverlog import Format, RequestLines
from fakekube.server.standalone import Options, Running

if TYPE_CHECKING:
    import socket

    from fakekube.controllers.controllermanager import ControllerManager

T = TypeVar("T")


class Selected(NamedTuple):
    """What the command line selects beside the options of the server."""

    controllers: Sequence[str]
    nodes: int | None
    stages: Sequence[Path]
    verbose: int
    log_format: Format


class Served(NamedTuple):
    """A server that listens. `steering`: its records and faults; None for one without a control API."""

    options: Options
    selected: Selected
    running: Running
    steering: Steering | None


async def served(
    options: Options,
    selected: Selected,
    sock: socket.socket,
    then: Callable[[Served], Coroutine[Any, Any, T]],
    *,
    started: Callable[[], None] = lambda: None,
    reports: bool = False,
) -> T:
    """Serve until `then` has ended. `started` is called when the server listens.

    `reports`: also without a control API, what clients do is recorded for reports.
    """
    clock = PacedClock(asyncio.get_running_loop())
    made: list[Steering] = []
    steer: Callable[[Running, ControllerManager | None], None] = unsteered
    if reports or options.control == "on" or options.faults is not None:
        steer = partial(_steer, options, clock, made)
    beside = selected.controllers, selected.nodes, selected.stages
    async with cluster(options, *beside, sock=sock, clock=clock, steer=steer) as found:
        started()
        runner = found.server.runner
        if selected.verbose:
            runner.on_answer(RequestLines(runner, selected.log_format, own=selected.verbose > 1).answered)
        try:
            return await then(Served(options, selected, found, made[0] if made else None))
        finally:
            if isinstance(loop := asyncio.get_running_loop(), PacedLoop):
                loop.end_pacing()


def _steer(
    options: Options, clock: PacedClock, made: list[Steering], found: Running, controllers: ControllerManager | None
) -> None:
    """Record what clients do, and answer the requests for the control API if it is on."""
    loop = asyncio.get_running_loop()
    steering = Steering(found, clock, SteeredBeside(controllers, loop if isinstance(loop, PacedLoop) else None))
    made.append(steering)
    guard = Guard(is_local=options.bind_address in LOOPBACK, tokens=found.administrators)
    control = ControlApi(steering, guard)
    if options.faults is not None:
        _arm(control, options.faults)
    if options.control == "on":
        found.server.runner.control = control


def _arm(control: ControlApi, path: Path) -> None:
    """Arm the faults of `--faults`. Raises CannotServe."""
    import yaml

    try:
        faults = yaml.safe_load(path.read_text())
        if not isinstance(faults, list) or not all(isinstance(one, dict) for one in faults):
            raise ValueError("expected a list of faults, each a map")
        control.arm(faults)
    except OSError as error:
        raise CannotServe(f"--faults {path}: {reason(error)}") from None
    except (TypeError, ValueError, StatusError, yaml.YAMLError) as problem:
        raise CannotServe(f"--faults {path}: {problem}") from None


async def run(command: Sequence[str], signals: Signals, reports: Reports, found: Served) -> int:
    """Run a command with KUBECONFIG set, and report what its clients did; the exit status. Raises CannotServe."""
    assert found.steering is not None
    clock = found.steering.clock
    with tempfile.TemporaryDirectory(prefix="fakekube-") as folder:
        environment = found.running.environment(Path(folder))
        began = clock.monotonic()
        try:
            status = await signals.run(command, environment)
        except CannotRun as error:
            click.echo(f"fakekube run: {error}", err=True)
            return error.status
    return _reported(Ended(command, status, clock.monotonic() - began), reports, found.steering)


def _reported(ended: Ended, reports: Reports, steering: Steering) -> int:
    findings = steering.detection.so_far() if reports.findings != "off" else ()
    sys.stdout.flush()
    for line in runreport.lines(findings):
        click.echo(line, err=True)
    if reports.timeline is not None:
        from fakekube.harness.records.page import LAST, page

        text = page(steering.timeline.to_json(title=" ".join(ended.command), last=LAST))
        runreport.write("timeline", reports.timeline, text)
    for user, path in reports.rbac.items():
        runreport.write("rbac-report", path, _least_roles(steering, user))
    if reports.junit is not None:
        runreport.write("junit", reports.junit, runreport.junit(ended, findings, reports.findings))
    return runreport.status_of(ended, findings, reports.findings)


def _least_roles(steering: Steering, user: str) -> str:
    runner = steering.runner
    return accessreport.report(runner.apiserver.store, runner.log, steering.user(user)).minimal
