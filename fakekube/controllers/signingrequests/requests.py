"""What the controllers of CertificateSigningRequests have in common (`certificate_controller.go`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from controllerlib import Request
from controllerlib.controller import EnqueueRequestForObject
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.retries import rate_limiter

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

API_VERSION, KIND = "certificates.k8s.io/v1", "CertificateSigningRequest"

#: The account of these controllers.
ACCOUNT = "certificate-controller"

KUBELET_SERVING = "kubernetes.io/kubelet-serving"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"

Object = Mapping[str, Any]

_SIGNATURE, _ENCIPHERMENT = "digital signature", "key encipherment"


def add_request_controller(
    context: ControllerContext, name: str, workers: int, handle: Callable[[Object], Awaitable[None]]
) -> None:
    """Add a controller that handles requests which have no certificate yet; failures are retried after 200 ms."""
    requests = context.kind(API_VERSION, KIND)

    async def reconcile(request: Request) -> None:
        found = requests.get("", request.name)
        if found is not None and not (found.get("status") or {}).get("certificate"):
            await handle(found)

    builder = context.controller(name)
    builder.with_options(
        max_concurrent_reconciles=workers, use_priority_queue=False, rate_limiter=lambda: rate_limiter(0.2, 1000.0)
    )
    builder.watches(API_VERSION, KIND, EnqueueRequestForObject())
    builder.complete(reconcile)


def is_true(request: Object, kind: str) -> bool:
    """Whether a request has a condition of a type that is true."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def decisions(request: Object) -> tuple[bool, bool]:
    """Whether a request is approved, and whether it is denied, by the types of its conditions."""
    kinds = {one.get("type") for one in (request.get("status") or {}).get("conditions") or ()}
    return "Approved" in kinds, "Denied" in kinds


# --- requests of kubelets (`pkg/apis/certificates/helpers.go`)


def kubelet_serving_problem(request: CertificateSigningRequest, usages: Collection[str]) -> str:
    """Why this is no request for the serving certificate of a kubelet, "" if it is."""
    names = alternative_names(request)
    if organizations(request) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    if not names["DNS"] and not names["IP"]:
        return "DNS or IP subjectAltName is required"
    for kind in ("Email", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    return _usage_problem(usages, "server auth") or _name_problem(request)


def kubelet_client_problem(request: CertificateSigningRequest, usages: Collection[str]) -> str:
    """Why this is no request for the client certificate of a kubelet, "" if it is."""
    names = alternative_names(request)
    if organizations(request) != ["system:nodes"]:
        return "subject organization is not system:nodes"
    for kind in ("DNS", "Email", "IP", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    return _name_problem(request) or _usage_problem(usages, "client auth")


def client_usage_problem(usages: Collection[str]) -> str:
    """Why these are no usages of a client certificate, "" if they are (validAPIServerClientUsages)."""
    for usage in usages:
        if usage not in (_SIGNATURE, _ENCIPHERMENT, "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _usage_problem(usages: Collection[str], purpose: str) -> str:
    if set(usages) in ({_SIGNATURE, purpose}, {_SIGNATURE, _ENCIPHERMENT, purpose}):
        return ""
    return f"usages did not match [{' '.join(sorted((_SIGNATURE, _ENCIPHERMENT, purpose)))}]"


def _name_problem(request: CertificateSigningRequest) -> str:
    if common_name(request).startswith("system:node:"):
        return ""
    return "subject common name does not begin with system:node:"


def common_name(request: CertificateSigningRequest) -> str:
    """The common name of the subject, "" if it has none."""
    from cryptography.x509.oid import NameOID

    return "".join(str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:])


def organizations(request: CertificateSigningRequest) -> list[str]:
    """The organizations of the subject."""
    from cryptography.x509.oid import NameOID

    return [str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def alternative_names(request: CertificateSigningRequest) -> Mapping[str, list[Any]]:
    """The subjectAltNames by their kind: DNS, Email, IP, URI."""
    from cryptography import x509

    kinds: dict[str, Any] = {
        "DNS": x509.DNSName,
        "Email": x509.RFC822Name,
        "IP": x509.IPAddress,
        "URI": x509.UniformResourceIdentifier,
    }
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return {kind: [] for kind in kinds}
    return {kind: list(names.get_values_for_type(found)) for kind, found in kinds.items()}
