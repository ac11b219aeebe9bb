"""Writes the audit log of a server (`--audit-log-path`), one event a line."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import orjson
import yaml

from fakekube.apiserver.endpoints.metrics import Sample, family
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.server.process.auditpolicy import AuditPolicy, InvalidPolicy, event, received
from fakekube.server.process.listening import CannotServe, reason
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner

log: logging.Logger = logging.getLogger(__name__)


@contextmanager
def audit_log(policy: Path | None, path: Path | None) -> Iterator[Callable[[ServerRunner], None]]:
    """A function that records the requests of a runner from then on, until the context ends. Raises CannotServe."""
    if policy is None and path is None:
        yield _unrecorded
        return
    if policy is None or path is None:
        raise CannotServe("--audit-policy-file and --audit-log-path need each other")
    rules = _policy(policy)
    if str(path) == "-":
        yield lambda runner: _record(runner, rules, _Lines(sys.stdout.buffer, "-"))
        return
    try:
        out = path.open("ab", buffering=0)  # what cannot be written is not kept
    except OSError as error:
        raise CannotServe(f"--audit-log-path {path}: {reason(error)}") from None
    with out:
        yield lambda runner: _record(runner, rules, _Lines(out, str(path)))


def _policy(path: Path) -> AuditPolicy:
    try:
        return AuditPolicy(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise CannotServe(f"--audit-policy-file {path}: {reason(error)}") from None
    except (InvalidPolicy, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise CannotServe(f"--audit-policy-file {path}: {problem}") from None


class _Lines:
    """Writes lines. Those that cannot be written are reported and left out, as kube-apiserver's `HandlePluginError`
    does: the requests are answered."""

    def __init__(self, out: IO[bytes], name: str) -> None:
        self._out, self._name = out, name
        self._is_torn = False

    def write(self, lines: bytes) -> bool:
        """Returns whether they were written."""
        rest = memoryview(b"\n" + lines if self._is_torn else lines)
        try:
            while rest:
                rest = rest[self._out.write(rest) :]
                self._is_torn = bool(rest)
            self._out.flush()
        except OSError as error:
            log.error("--audit-log-path %s: events cannot be written", self._name, exc_info=error)
            return False
        return True


class _AuditMetrics:
    """The counters of the audit log (`k8s.io/apiserver/pkg/audit/metrics.go`)."""

    def __init__(self) -> None:
        self.levels: Counter[str] = Counter()
        self.events = self.errors = 0

    def families(self) -> Iterable[str]:
        """The metric families as text."""
        about = "[ALPHA] Counter of audit events generated and sent to the audit backend."
        yield family("apiserver_audit_event_total", "counter", about, [({}, self.events)])
        about = "[ALPHA] Counter of policy levels for audit events (1 per request)."
        levels: list[Sample] = [({"level": level}, count) for level, count in sorted(self.levels.items())]
        yield family("apiserver_audit_level_total", "counter", about, levels)
        about = (
            "[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected "
            "by the error."
        )
        failed: list[Sample] = [({"plugin": "log"}, self.errors)] if self.errors else []
        yield family("apiserver_audit_error_total", "counter", about, failed)


def _record(runner: ServerRunner, rules: AuditPolicy, out: _Lines) -> None:
    random, metrics = SystemRandom(), _AuditMetrics()
    runner.apiserver.more_metrics.append(metrics.families)

    def answered(request: Request, info: RequestInfo, response: Response, record: RequestRecord) -> None:
        audited = rules.of(request.user, info)
        metrics.levels[audited.level] += 1
        if audited.level == "None":
            return
        clock = runner.clock
        made = event(
            random.uid("audit"),
            audited,
            (request, info, response, record),
            clock.now(),
            clock.monotonic() - runner.began,
        )
        stages = [one for one in (received(made), made) if one["stage"] not in audited.omitted]
        metrics.events += len(stages)
        if not out.write(b"".join(orjson.dumps(one) + b"\n" for one in stages)):
            metrics.errors += len(stages)

    runner.on_answer(answered)


def _unrecorded(runner: ServerRunner) -> None:
    """Without a policy nothing is recorded."""
