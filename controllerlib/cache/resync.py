"""Whose resync period counts (client-go: shared_informer.go, determineResyncPeriod). Seconds; 0 means never."""

#: Shorter periods than this are raised to it.
MINIMUM_RESYNC = 1.0


def effective_period(requested: float, check: float) -> float:
    """What a handler gets that asked for `requested` when the informer looks every `check` seconds."""
    if requested == 0 or check == 0:
        return 0.0
    return max(requested, check)


def period_for_new_handler(requested: float, check: float, *, started: bool) -> tuple[float, float]:
    """The (handler's period, informer's check period) after a handler asked.

    Before the start a shorter wish makes the informer look more often; afterwards the wish is raised. An informer
    without resync stays without.
    """
    if requested <= 0:
        return 0.0, check
    requested = max(requested, MINIMUM_RESYNC)
    if requested >= check or check == 0:
        return requested, check
    return (check, check) if started else (requested, requested)
