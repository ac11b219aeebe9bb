"""Shows an alarm of controllers what a server of this process stores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fakekube.apiserver.storage.store import Change, path_of
from fakekube.controllers.dormancy import Alarm, Dependents
from fakekube.server.runner import ServerRunner


def alarm_of(runner: ServerRunner) -> Alarm:
    """An alarm for the controllers of a server."""
    return Alarm(Dependents(partial(_owner, runner)))


def watch(runner: ServerRunner, alarm: Alarm) -> None:
    """Wake the controllers that what is stored concerns, now and from now on."""

    def look_at_all() -> None:
        for collection, _, entry in runner.apiserver.store.entries():
            alarm.look(collection, entry.object)

    def changed(change: Change) -> None:
        if change.after is not None:
            alarm.look(change.collection, change.after.object)
        elif change.before is not None:
            alarm.look(change.collection, change.before.object, is_gone=True)

    look_at_all()
    runner.restored.append(look_at_all)
    runner.on_write(changed)


def _owner(runner: ServerRunner, reference: Mapping[str, Any], namespace: str) -> Mapping[str, Any] | None:
    """The object that an ownerReference in a namespace names."""
    apiserver = runner.apiserver
    resource = apiserver.catalog.find_kind(reference.get("apiVersion", ""), reference.get("kind", ""))
    if resource is None:
        return None
    path = path_of(namespace if resource.namespaced else "", reference.get("name", ""))
    entry = apiserver.store.get(resource.collection, path)
    return None if entry is None else entry.object
