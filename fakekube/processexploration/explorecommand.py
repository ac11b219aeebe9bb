"""What `fakekube explore` does beside a server, and prints."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from fakekube.commandserver import Served
from fakekube.processexploration.exploring import Outcome, explored
from fakekube.processexploration.reproduction import Setting
from fakekube.server.process.listening import CannotServe, reason


class Explored(NamedTuple):
    """The options of the command, but for those of the server."""

    start: str
    agent: str
    after: Sequence[Path]
    quiet: str
    within: str
    patience: str
    budget: int
    atoms: Sequence[str]
    stop_at_first: bool
    report: Path


async def explore(options: Explored, arguments: Sequence[str], found: Served) -> int:
    """Explore a process beside a server; the exit status: 1 for failures. Raises CannotServe."""
    assert found.steering is not None
    setting = Setting(options.start, options.agent, options.quiet, options.within, options.patience, arguments)
    with tempfile.TemporaryDirectory(prefix="fakekube-") as folder:
        outcome = await explored(
            found.steering, setting, options.after, options.atoms, options.budget,
            stop_at_first=options.stop_at_first, say=_say, folder=Path(folder),
        )  # fmt: skip
    return _reported(outcome, options.report)


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


def _reported(outcome: Outcome, report: Path) -> int:
    left = outcome.planned - outcome.tried
    _say(
        f"{outcome.tried} runs, {outcome.reached} reached their fault, {len(outcome.failures)} defects, "
        f"{left} not tried"
    )
    for number, (failure, script) in enumerate(outcome.failures, 1):
        path = report / f"failure-{number}.sh"
        try:
            report.mkdir(parents=True, exist_ok=True)
            path.write_text(script)
            path.chmod(0o755)
        except OSError as error:
            raise CannotServe(f"--report {path}: {reason(error)}") from None
        _say(f"{path}: {failure.plan}")
        for one in failure.violations:
            _say(f"  {one}")
    return 1 if outcome.failures else 0
