"""What a bubble says when time cannot or must not go on."""


class Deadlock(Exception):
    """The test waits, nothing is runnable, and no timer will ever change that."""


class NotQuiescent(Exception):
    """Something of the bubble stayed busy for longer than the patience (real seconds)."""


class HotLoop(Exception):
    """More work within one virtual second than any sane operator does: somebody triggers himself."""


class BubbleClosed(BaseException):
    """Ends a thread that is parked when its bubble closes.

    Not an `Exception`: a retry loop in the operator's code must not swallow it.
    """
