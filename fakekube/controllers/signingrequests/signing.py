"""The controller that signs approved requests, for the signers of Kubernetes (`certificates/signer`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import parsed_request
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.signingrequests.requests import (
    ACCOUNT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    add_request_controller,
    client_usage_problem,
    decisions,
    is_true,
    kubelet_client_problem,
    kubelet_serving_problem,
)
from fakekube.controllers.workload.podstate import timestamp

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

    from fakekube.controllers.signingrequests.certificateauthority import CertificateAuthority

#: Five for each of the signers.
WORKERS = 20

Object = Mapping[str, Any]

#: Signer -> why it does not sign a request with these usages, "" if it does.
PROBLEMS: Mapping[str, Callable[[CertificateSigningRequest, Collection[str]], str]] = {
    KUBELET_SERVING: kubelet_serving_problem,
    KUBELET_CLIENT: kubelet_client_problem,
    "kubernetes.io/kube-apiserver-client": lambda request, usages: client_usage_problem(usages),
    "kubernetes.io/legacy-unknown": lambda request, usages: "",
}


def add(context: ControllerContext) -> None:
    """Add the controller that signs requests."""
    RequestSigner(context).add()


class RequestSigner:
    """Signs with the CA of the settings, or else with one that is created for the first request."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._authority: CertificateAuthority | None = None

    def add(self) -> None:
        """Add the controller to the manager."""
        add_request_controller(self._context, "certificatesigningrequest-signing-controller", WORKERS, self._handle)

    async def _handle(self, request: Object) -> None:
        approved, denied = decisions(request)
        problem_of = PROBLEMS.get(request["spec"].get("signerName") or "")
        if problem_of is None or not approved or denied or is_true(request, "Failed"):
            return
        parsed, usages = parsed_request(request["spec"]["request"]), request["spec"].get("usages") or ()
        status, now = request.get("status") or {}, self._context.now()
        problem = problem_of(parsed, usages)
        if problem:
            condition = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": problem,
                "lastUpdateTime": timestamp(now),
            }
            changed: Object = {**status, "conditions": [*(status.get("conditions") or ()), condition]}
        else:
            changed = {**status, "certificate": self._sign(parsed, request, now)}
        await self._client.update_status({**request, "status": changed})

    def _sign(self, parsed: CertificateSigningRequest, request: Object, now: datetime) -> str:
        from fakekube.controllers.signingrequests.certificateauthority import CertificateAuthority, lifetime

        if self._authority is None:
            given = self._context.settings.signing_ca
            self._authority = CertificateAuthority(*given) if given else CertificateAuthority.created(now)
        spec, meta = request["spec"], request["metadata"]
        draws = [self._context.manager.random.fraction("serial number", meta["uid"], number) for number in (0, 1)]
        pem = self._authority.sign(
            parsed, spec.get("usages") or (), lifetime(spec.get("expirationSeconds")), now, serial=_serial(*draws)
        )
        return base64.b64encode(pem).decode()


def _serial(first: float, second: float) -> int:
    """A serial number of 104 bits."""
    return (int(first * (1 << 52)) << 52) + int(second * (1 << 52)) or 1
