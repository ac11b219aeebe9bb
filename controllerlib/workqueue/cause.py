"""The cause of a reconcile: why a request was added to a queue."""

from typing import Literal, NamedTuple

#: added: a new object, or one of an initial list · updated: a new resourceVersion · deleted · generic: a channel or
#: function source · resync: unchanged, from the resync timer · relist: unchanged, from another list · requeue_after:
#: requested by the last Result · requeue: requested by the last Result without a delay · retry: the last reconcile
#: failed
CauseKind = Literal["added", "updated", "deleted", "generic", "resync", "relist", "requeue_after", "requeue", "retry"]


class Cause(NamedTuple):
    """One cause of a reconcile: what happened, to which object (empty for requeues and retries), at which version.

    A named tuple because one is created for every request that is added.
    """

    kind: CauseKind
    api_version: str = ""
    object_kind: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""

    def __str__(self) -> str:
        if not self.name:
            return self.kind
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        at = f"@{self.resource_version}" if self.resource_version else ""
        return f"{self.kind} {self.object_kind} {where}{at}"
