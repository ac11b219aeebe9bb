"""When a success policy is met (`pkg/controller/job/success_policy.go`)."""

from __future__ import annotations

from fakekube.controllers.batch.job.completionindexes import Intervals, overlap, parse, total
from fakekube.controllers.batch.job.jobspec import Object


def met_rule(job: Object, succeeded: Intervals) -> str:
    """The message of the first rule that is met; "" if none is."""
    policy = job["spec"].get("successPolicy")
    if policy is None or not succeeded:
        return ""
    for index, rule in enumerate(policy.get("rules") or ()):
        text, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if text is None:
            met = count is not None and total(succeeded) >= count
        else:
            wanted = parse(text, job["spec"]["completions"])
            both = overlap(wanted, succeeded)
            met = bool(wanted) and (both == total(wanted) or (count is not None and both >= count))
        if met:
            return f"Matched rules at index {index}"
    return ""
