"""Exceptions of virtual time."""


class Deadlock(Exception):
    """The test waits, nothing is runnable, and no timer is set."""


class NotQuiescent(Exception):
    """Part of the bubble stayed busy for longer than its patience, in real seconds."""


class HotLoop(Exception):
    """The bubble does so much work within one virtual second that something must be triggering itself."""


class ProcessEnded(Exception):
    """Code of the bubble called what ends its process, which is the process of the test: os._exit, or os.kill."""


class LoopBlocked(BaseException):
    """Raised in code that has blocked the event loop for longer than the patience, in real seconds.

    It is not an `Exception`, so that retry loops of the code under test do not catch it. The test gets NotQuiescent.
    """


class BubbleClosed(BaseException):
    """Raised in a thread that is parked when its bubble closes.

    It is not an `Exception`, so that retry loops of the code under test do not catch it.
    """
