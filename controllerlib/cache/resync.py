"""Resync periods of handlers (client-go: shared_informer.go, determineResyncPeriod). In seconds; 0 means never."""

#: The minimum period; shorter ones are raised to it.
MINIMUM_RESYNC = 1.0


def effective_period(requested: float, check: float) -> float:
    """Return the effective period of a handler, when the informer checks every `check` seconds."""
    if requested == 0 or check == 0:
        return 0.0
    return max(requested, check)


def period_for_new_handler(requested: float, check: float, *, started: bool) -> tuple[float, float]:
    """Return (the period of a new handler, the check period of the informer).

    Before the start, a shorter period also shortens the check period; after the start, a shorter period is raised to
    the check period. An informer without resync never resyncs.
    """
    if requested <= 0:
        return 0.0, check
    requested = max(requested, MINIMUM_RESYNC)
    if requested >= check or check == 0:
        return requested, check
    return (check, check) if started else (requested, requested)
