"""Returning to a former revision, which a deprecated annotation asks for (`rollback.go`)."""

from __future__ import annotations

from typing import Any

from fakekube.controllers.apps.deployment.revision import (
    HASH_LABEL,
    ROLLBACK_TO,
    is_same_template,
    last_revision,
    revision,
    rolled_back_annotations,
)
from fakekube.controllers.apps.deployment.rollout import Rollout


async def roll_back(rollout: Rollout) -> None:
    """Give the Deployment the template of the revision in its annotation, and remove the annotation."""
    new, old = await rollout.new_and_old(create=True)
    assert new is not None
    deployment, name = rollout.deployment, rollout.deployment["metadata"]["name"]
    wanted = _wanted(rollout) or last_revision([*old, new])
    if wanted == 0:
        await _cleared(rollout, "Warning", "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
        return
    found = next((one for one in [*old, new] if revision(one) == wanted), None)
    if found is None:
        text = "Unable to find the revision to rollback to."
        await _cleared(rollout, "Warning", "DeploymentRollbackRevisionNotFound", text)
        return
    template = found["spec"]["template"]
    if is_same_template(deployment["spec"]["template"], template):
        text = f'The rollback revision contains the same template as current deployment "{name}"'
        await _cleared(rollout, "Warning", "DeploymentRollbackTemplateUnchanged", text)
        return
    labels = {key: value for key, value in template["metadata"].get("labels", {}).items() if key != HASH_LABEL}
    deployment["spec"] = {
        **deployment["spec"],
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    deployment["metadata"]["annotations"] = rolled_back_annotations(deployment, found)
    text = f'Rolled back deployment "{name}" to revision {wanted}'
    await _cleared(rollout, "Normal", "DeploymentRollback", text)


def _wanted(rollout: Rollout) -> int:
    """The revision of the annotation; 0 asks for the one before the present one."""
    text: Any = rollout.deployment["metadata"]["annotations"][ROLLBACK_TO]
    return int(text) if text.isascii() and text.lstrip("-").isdigit() else 0


async def _cleared(rollout: Rollout, event_type: str, reason: str, text: str) -> None:
    """Write the Deployment without the annotation, with an Event that says what was done."""
    deployment = rollout.deployment
    deployment["metadata"]["annotations"].pop(ROLLBACK_TO, None)
    await rollout.client.update(deployment)
    rollout.recorder.event(deployment, event_type, reason, text)
