"""Why a request is in a queue."""

from typing import Literal, NamedTuple

#: added: seen for the first time (initial lists too) · updated: a new resourceVersion · deleted · generic: a channel or
#: somebody's own call · resync: unchanged, from the informer's timer · relist: unchanged, from a new list ·
#: requeue_after: the last result asked · requeue: the last result asked without a time · retry: the last run failed
CauseKind = Literal["added", "updated", "deleted", "generic", "resync", "relist", "requeue_after", "requeue", "retry"]


class Cause(NamedTuple):
    """One reason for a run: what happened, to which object (empty for requeues and retries), at which version.

    A tuple, not a dataclass: there is one for every request that is asked for.
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
