"""Stored objects never change: the cluster's own controllers share them with the store, and only read them."""

from contextlib import contextmanager

from fakekube.apiserver.wire import gojson
from fakekube.harness.engine import engine_of


@contextmanager
def none_changes(fakekube):
    """Fails if an object that is stored meanwhile, or one that it replaced, is changed afterwards."""
    stored = []

    def keep(change):
        entries = [entry for entry in (change.before, change.after) if entry is not None]
        stored.extend((entry, gojson.encode(entry.object, sorted_keys=True)) for entry in entries)

    forget = engine_of(fakekube).server.on_write(keep)
    yield
    forget()
    assert stored
    changed = [data for entry, data in stored if gojson.encode(entry.object, sorted_keys=True) != data]
    assert changed == []
