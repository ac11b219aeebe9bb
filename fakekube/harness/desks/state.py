"""The desk `fakekube.state`: the state of the cluster as a whole, and the versions of objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakekube.harness.members import Need, changes, reads
from fakekube.harness.objects import Objects
from fakekube.harness.state import loading
from fakekube.harness.state.clusterstate import ClusterState
from fakekube.harness.state.versionhistory import VersionHistory

if TYPE_CHECKING:
    from controllerlib.client import Writable
    from fakekube.harness.audit import Audit
    from fakekube.harness.state.loading import Manifests
    from fakekube.harness.state.snapshot import Snapshot
    from fakekube.virtualtime import VirtualClock

Object = dict[str, Any]


class State:
    """Snapshots, manifests, golden files, and the history of objects."""

    def __init__(self, objects: Objects, whole: ClusterState, audit: Audit, clock: VirtualClock) -> None:
        self._objects, self._whole, self._audit, self._clock = objects, whole, audit, clock

    @reads(Need.STORE)
    def snapshot(self) -> Snapshot:
        """The state of the cluster, to return to with `restore`: objects, revision and random counters.

        It takes microseconds, because stored objects are immutable and shared. It can be restored as often as needed,
        also in other clusters with the same settings. Records, operators, faults and time are not part of it.
        """
        return self._whole.snapshot()

    @changes(Need.STORE)
    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot, as a server that is restarted from a backup: every watch ends.

        If nothing runs beside the test, the cluster is exactly as it was, its resourceVersion included. Otherwise the
        resourceVersion continues above the present one and the history is compacted, so that operators list again.
        Time does not move backwards. Raises TypeError, and ValueError if the clusters have different settings.
        """
        self._whole.restore(snapshot)

    @changes()
    def load(self, *sources: Manifests) -> list[Object]:
        """Create or replace the objects of manifests: files, directories, kustomizations, open files, or text.

        Namespaces and CustomResourceDefinitions are first. Otherwise as `apply`. A directory with a kustomization is
        built with `kustomize` or `kubectl`, one of which must be installed. Raises ManifestError.
        """
        objects = loading.read(sources)
        return self._objects.apply(objects) if objects else []

    @changes(Need.STORE)
    def force(self, obj: Writable) -> Object:
        """Store an object as it is, even if no request could: without admission, validation and immutability.

        Its status, uid, creationTimestamp, deletionTimestamp and managedFields are kept; the server sets those that are
        missing, and always the resourceVersion. Watches receive the change. Raises ValueError for an object that
        has no name or fields that its schema does not have, LookupError for an unknown kind.
        """
        return self._whole.force(obj)

    @reads(Need.STORE)
    def export(
        self,
        path: str | Path | None = None,
        *,
        kinds: Sequence[str] | None = None,
        namespace: str | None = None,
        clean: bool = False,
    ) -> str:
        """The objects as YAML that `load` and kubectl accept; written to `path` if given.

        `kinds`: like ["Deployment", "v1 ConfigMap"]; by default all but Events, Leases, and what the server creates for
        others. `namespace`: only its objects, and the namespace. Objects of a new server that have not changed are left
        out. `clean`: without status and what servers set and allocate. Raises LookupError for an unknown kind.
        """
        return self._whole.export(path, kinds, namespace, clean=clean)

    @reads(Need.STORE)
    def assert_golden(
        self,
        path: str | Path,
        *,
        kinds: Sequence[str] | None = None,
        namespace: str | None = None,
        ignore: Sequence[str] = (),
        unmasked: Sequence[str] = (),
    ) -> None:
        """Compare the objects with a golden file, which `pytest --fakekube-update-golden` writes.

        `path` is relative to the test's file. `kinds` and `namespace` are those of `export`. `ignore`: paths of fields,
        like ["status.conditions", "metadata.annotations[example.com/time]"]. Uids, times, resourceVersions, generated
        names and managedFields are masked, except those named in `unmasked` ("uids", "times", "resource_versions",
        "generated_names", "managed_fields"). Raises AssertionError with the differences.
        """
        self._whole.check_golden(path, kinds, namespace, ignore, unmasked)

    @reads(Need.STORE)
    def versions(self, api_version: str, kind: str, name: str, namespace: str = "default") -> VersionHistory:
        """The history of an object: the time and the new version of each change (None: deleted).

        `str()` of it shows the differences.
        """
        found = self._audit.versions(self._objects.resource(api_version, kind), name, namespace)
        return VersionHistory(f"{kind} {namespace}/{name}", found, self._clock.epoch, found.dropped)

    @reads(Need.STORE)
    def diff(self, api_version: str, kind: str, name: str, namespace: str = "default") -> str:
        """What each change of an object has changed, field by field: `~ spec.replicas: 1 -> 2`."""
        return str(self.versions(api_version, kind, name, namespace))
