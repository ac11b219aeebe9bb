"""The state of one cluster, as FakeKube offers it: forced objects, snapshots, exports, golden files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from controllerlib.client import Writable
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire.status import StatusError
from fakekube.harness.arguments import written
from fakekube.harness.objects import TEST_AGENT, Objects
from fakekube.harness.records.entry import Summary
from fakekube.harness.state import exporting, selecting, snapshot
from fakekube.harness.state.golden import GoldenFiles
from fakekube.harness.state.masking import MASKS, masked
from fakekube.harness.state.selecting import Scope
from fakekube.harness.state.snapshot import Snapshot
from fakekube.harness.timeline import Timeline
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble

Object = dict[str, Any]


class Running(Protocol):
    """What runs beside a test."""

    @property
    def is_busy(self) -> bool: ...


class ClusterState:
    """Reads and replaces the state of a server as a whole, without requests."""

    def __init__(
        self,
        runner: ServerRunner,
        random: SeededRandom,
        bubble: Bubble,
        objects: Objects,
        timeline: Timeline,
        background: Running,
    ) -> None:
        self._runner, self._random, self._bubble, self._objects = runner, random, bubble, objects
        self._timeline, self._background = timeline, background
        self._initial = runner.apiserver.store.revision
        self.golden: GoldenFiles = GoldenFiles()

    def snapshot(self) -> Snapshot:
        return snapshot.take(self._runner, self._random, self._bubble.clock)

    def restore(self, saved: Snapshot) -> None:
        """See `State.restore`."""
        observed = bool(self._runner.watches) or self._bubble.external or self._background.is_busy
        snapshot.restore(saved, self._runner, self._random, self._bubble.clock, is_observed=observed)
        self._note(f"restores the snapshot of resourceVersion {saved.revision}")

    def force(self, value: Writable) -> Object:
        """Store an object without any check. Raises TypeError, ValueError, LookupError."""
        obj = written("state.force", value)
        meta = obj.get("metadata") or {}
        if not isinstance(meta.get("name"), str) or not meta["name"]:
            raise ValueError(f"state.force(): the {obj['kind']} has no metadata.name (a name is not generated here)")
        resource = self._objects.resource(obj["apiVersion"], obj["kind"])
        try:
            entry = self._runner.write_unchecked(resource, {**obj, "metadata": meta})
        except (WrongType, StatusError) as problem:
            raise ValueError(f"state.force(): the {obj['kind']} {meta['name']!r} cannot be stored: {problem}") from None
        self._note(f"forces the state of {resource.plural} {meta['name']}")
        found: Object = orjson.loads(self._runner.apiserver.registration(resource).view.encode(entry))
        return found

    def export(
        self, path: str | Path | None, kinds: Sequence[str] | None, namespace: str | None, *, clean: bool
    ) -> str:
        """The objects as YAML, also written to `path` if it is given."""
        if not isinstance(path, str | Path | None):
            raise TypeError(f"export(path={path!r}): pass the path of a file, or None to return the text only")
        if not isinstance(clean, bool):
            raise TypeError(f"export(clean={clean!r}): pass True or False")
        text = exporting.manifests(self._selected("export", kinds, namespace), clean=clean)
        if path is not None:
            Path(path).write_text(text)
        return text

    def check_golden(
        self,
        path: str | Path,
        kinds: Sequence[str] | None,
        namespace: str | None,
        ignore: Sequence[str],
        unmasked: Sequence[str],
    ) -> None:
        """Compares the state with a golden file. Raises AssertionError, TypeError, ValueError."""
        for name, value in (("ignore", ignore), ("unmasked", unmasked)):
            if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
                raise TypeError(f"state.assert_golden({name}={value!r}): pass a list of texts")
        if unknown := sorted(set(unmasked) - set(MASKS)):
            raise ValueError(
                f"state.assert_golden(unmasked={list(unmasked)!r}): no mask {unknown[0]!r} ({', '.join(MASKS)})"
            )
        file = self.golden.path(path)
        found = masked(
            self._selected("state.assert_golden", kinds, namespace), ignore, [m for m in MASKS if m not in unmasked]
        )
        state = "".join(f"---\n{exporting.document(obj)}" for obj in found)
        self.golden.check(file, state, str(path))

    def _selected(self, caller: str, kinds: Sequence[str] | None, namespace: str | None) -> list[Object]:
        selecting.check(caller, kinds, namespace)
        return list(selecting.objects(self._runner.apiserver, Scope(kinds, namespace, self._initial)))

    def _note(self, what: str) -> None:
        revision = self._runner.apiserver.store.revision
        self._timeline.add(self._bubble.clock.now(), Summary, TEST_AGENT, what, str(revision))
