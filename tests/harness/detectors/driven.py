"""Calls the hooks of one detector as the cluster does, whether it has something to look for yet or not."""

from fakekube.harness.audit import WRITES
from fakekube.harness.detectors.detector import PERIODIC, SHORT, Sent
from fakekube.harness.records.reconciles import version_of


class Driven:
    """A detector whose scene is a double; its other attributes are those of the detector."""

    def __init__(self, detector):
        self._detector, self._listened = detector, []
        detector._scene.follow, detector._scene.listen = _nothing, self._listen

    def __getattr__(self, name):
        return getattr(self._detector, name)

    def __setattr__(self, name, value):
        if name in ("_detector", "_listened"):
            super().__setattr__(name, value)
        else:
            setattr(self._detector, name, value)

    def _listen(self, verbs, hook):
        if hook not in [known for _, known in self._listened]:
            self._listened.append((verbs, hook))

    def _call(self, name, *args):
        """Call a hook that the detector always has, or one that it asks for (`Scene.follow`)."""
        asked_for = f"_{name}" if name in ("started", "called", "finished", "committed") else name
        hook = getattr(self._detector, name, getattr(self._detector, asked_for, None))
        if hook is not None:
            hook(*args)

    def started(self, doing):
        causes = doing.run.causes
        if causes and causes[0].kind in PERIODIC:
            self._call("resynced", doing)
        self._call("started", doing)

    def called(self, doing, call, code, answer):
        verb, path, body = getattr(call, "verb", "create"), getattr(call, "path", ""), getattr(call, "body", None)
        if verb not in WRITES:
            return
        sent = Sent(verb, path, code, body, answer, version_of(body), version_of(answer))
        if verb in getattr(self._detector, "calls", WRITES):
            self._call("called", doing, sent)
        if code == 201:
            self._call("made", doing, sent)
        elif code >= 400:
            self._call("rejected", doing, sent)

    def finished(self, doing, outcome):
        after, error = getattr(outcome, "requeue_after", None), getattr(outcome, "error", None)
        if after is not None and after < SHORT:
            self._call("requeued", doing, outcome)
        self._call("finished", doing, outcome)
        if error is not None:
            self._call("failed", doing, error)

    def committed(self, change, doing):
        before, after = (getattr(entry, "object", {}).get("metadata", {}) for entry in (change.before, change.after))
        if before.get("finalizers") != after.get("finalizers"):
            self._call("finalizers_changed", change, doing)
        self._call("committed", change, doing)

    def answered(self, exchange):
        record = exchange.record
        if record.verb in getattr(self._detector, "verbs", ()):
            self._call("answered", exchange)
            if exchange.doing is None:
                self._call("answered_alone", exchange)
        for verbs, hook in list(self._listened):
            if record.verb in verbs:
                hook(exchange)
        if record.code >= 400:
            self._call("refused", exchange)


def _nothing(**hooks):
    """What the scene of a `Driven` detector does: all hooks are called anyway."""
