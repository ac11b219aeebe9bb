"""Leader election from outside: another candidate takes a lease."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

Object = dict[str, Any]


def taken(lease: Object, holder: str, now: datetime, *, unrealistic: bool) -> Object:
    """The lease as a candidate writes it that takes it over.

    Raises ValueError if the lease is still valid: another candidate waits until its holder has not renewed it for
    the lease duration.
    """
    spec = lease.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds") or 0
    renewed = datetime.fromisoformat(spec["renewTime"].replace("Z", "+00:00")) if spec.get("renewTime") else None
    if spec.get("holderIdentity") and renewed is not None and not unrealistic:
        valid = renewed + timedelta(seconds=seconds) - now
        if valid > timedelta():
            raise ValueError(
                f"the lease of {spec['holderIdentity']!r} is valid for another {valid.total_seconds():g} s, and no "
                "candidate takes a valid lease: let its renewals fail first, with fault(verb='update', "
                "resource='leases', error=503), or stop its holder (unrealistic=True takes it nevertheless)"
            )
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        **lease,
        "spec": {
            **spec,
            "holderIdentity": holder,
            "acquireTime": moment,
            "renewTime": moment,
            "leaseDurationSeconds": seconds or 15,
            "leaseTransitions": (spec.get("leaseTransitions") or 0) + 1,
        },
    }
