"""Services, their endpoints, ingresses, policies and address ranges: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from fakekube.apiserver.registry.generic.validation.content import ip_problems, parse_ip
from fakekube.apiserver.registry.generic.validation.ip import (
    canonical,
    cidr_problems,
    cidr_warnings,
    family,
    ip_warnings,
    parse_cidr,
    special_problems,
)
from tests.apiserver.validation.support import check_new, check_update, strategy

PORTS = [{"port": 80}]
LABEL = "a lowercase RFC 1123 label must consist of"
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def service(**spec):
    return {"spec": {"ports": PORTS, "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], **spec}}


NEW = [
    ("Service", service(), []),
    ("Service", service(ports=[]), ["spec.ports: Required value"]),
    ("Service", service(ports=[{"port": 0}]), [
        "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
    ]),
    ("Service", service(ports=[{"port": 1}, {"port": 2}]), [
        "spec.ports[0].name: Required value", "spec.ports[1].name: Required value",
    ]),
    ("Service", service(ports=[{"name": "a", "port": 1}, {"name": "a", "port": 2}]),
     ['spec.ports[1].name: Duplicate value: "a"']),
    ("Service", service(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 1}]),
     ['spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}']),
    ("Service", service(ports=[{"port": 1, "protocol": "ICMP"}]),
     ['spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"']),
    ("Service", service(ports=[{"port": 1, "targetPort": "a_b"}]),
     ['spec.ports[0].targetPort: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
    ("Service", service(type="Other"),
     ['spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"']),
    ("Service", service(sessionAffinity="x"),
     ['spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"']),
    ("Service", service(selector={"a b": "x"}), ['spec.selector: Invalid value: "a b": name part must consist…']),
    ("Service", {"spec": {"type": "ExternalName"}}, ["spec.externalName: Required value"]),
    ("Service", {"spec": {"type": "ExternalName", "externalName": "a..b"}},
     ['spec.externalName: Invalid value: "a..b": a lowercase RFC 1123 subdomain…']),
    ("Service", service(externalIPs=["127.0.0.1"]),
     ['spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)']),
    ("Service", service(internalTrafficPolicy="x"),
     ['spec.internalTrafficPolicy: Unsupported value: "x": supported values: "Cluster", "Local"']),
    ("Endpoints", {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}, []),
    ("Endpoints", {"subsets": [{}]}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
    ("Endpoints", {"subsets": [{"addresses": [{"ip": "1.2.3"}]}]}, [
        f'subsets[0].addresses[0].ip: Invalid value: "1.2.3": {IP}',
        'subsets[0].addresses[0].ip: Invalid value: "1.2.3": must be a valid IP address',
    ]),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]}, []),
    ("EndpointSlice", {"endpoints": []}, ["addressType: Required value"]),
    ("EndpointSlice", {"addressType": "IPv5"},
     ['addressType: Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6"']),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": []}]},
     ["endpoints[0].addresses: Required value: must contain at least 1 address"]),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["2001:db8::1"]}]},
     ['endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address']),
    ("Ingress", {"spec": {}},
     ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
    ("Ingress", {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}}, []),
    ("Ingress", {"spec": {"defaultBackend": {"service": {"name": "a", "port": {}}}}},
     ["spec.defaultBackend: Required value: port name or number is required"]),
    ("Ingress", {"spec": {"rules": [{"host": "1.2.3.4"}]}},
     ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address']),
    ("IngressClass", {"spec": {"controller": "example.com/c", "parameters": {"kind": "X", "name": "y"}}}, []),
    ("IngressClass", {"spec": {"controller": "c"}},
     ['spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")']),
    ("IngressClass",
     {"spec": {"controller": "a.b/c", "parameters": {"kind": "X", "name": "y", "scope": "Namespace"}}},
     ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"]),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}, []),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "policyTypes": ["Up"]}},
     ['spec.policyTypes[0]: Unsupported value: "Up": supported values: "Ingress", "Egress"']),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [{"from": [{}]}]}},
     ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [
        {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/24"]}}]}]}},
     ['spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/24": must be a strict subset of `cidr`']),
    ("ServiceCIDR", {"spec": {"cidrs": ["10.1.0.0/24"]}}, []),
    ("ServiceCIDR", {"spec": {}}, ["spec.cidrs: Required value: at least one CIDR required"]),
    ("IPAddress", {"metadata": {"name": "10.0.0.1"}, "spec": {}}, ["spec.parentRef: Required value"]),
]  # fmt: skip

CHANGED = [
    ("Service", service(), {"spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"]}},
     ['spec.clusterIPs[0]: Invalid value: ["10.0.0.10"]: may not change once set']),
    ("EndpointSlice", {"addressType": "IPv4"}, {"addressType": "IPv6"},
     ['addressType: Invalid value: "IPv6": field is immutable']),
    ("IngressClass", {"spec": {"controller": "a.b/c"}}, {"spec": {"controller": "a.b/d"}},
     ['spec.controller: Invalid value: "a.b/d": field is immutable']),
    ("ServiceCIDR", {"spec": {"cidrs": ["10.1.0.0/24"]}}, {"spec": {"cidrs": ["10.2.0.0/24"]}},
     ["spec.cidrs[0]: Invalid value: …"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)


@pytest.mark.parametrize(
    ("text", "is_read", "is_good"),
    [
        ("1.2.3.4", True, True),
        ("::1", True, True),
        ("2001:db8::ffff", True, True),
        ("::ffff:1.2.3.4", True, False),  # an IPv4 address in disguise
        ("01.2.3.4", True, False),  # octal to some, decimal to others
        ("1.2.3", False, False),
        ("1.2.3.4/32", False, False),
        ("fe80::1%eth0", False, False),
        ("", False, False),
    ],
)
def test_addresses(text, is_read, is_good):
    assert (parse_ip(text) is not None) is is_read
    assert (ip_problems(text) == []) is is_good


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("10.0.0.0/8", 0),
        ("2001:db8::/32", 0),
        ("10.0.0.1/8", 1),  # bits after the prefix
        ("10.0.0.0/08", 1),
        ("10.0.0.0/33", 1),
        ("10.0.0.0", 1),
    ],
)
def test_ranges_of_addresses(text, problems):
    assert len(cidr_problems(text)) == problems


def test_the_spelling_of_an_address():
    address = parse_ip("2001:0DB8:0:0::1")
    assert address is not None
    assert canonical(address) == "2001:db8::1"
    assert parse_cidr("10.0.0.0/8")


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("10.0.0.1", []),
        ("2001:db8::1", []),
        ("2001:DB8::1", ['must be in canonical form ("2001:db8::1")']),
        ("a", [IP]),
    ],
)
def test_an_address_is_the_name_of_its_object(name, problems):
    assert list(strategy("IPAddress").name_check(name, False)) == problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "10.0.0.1/8",
            'p: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        ),
        (
            "fd00::1/64",
            'p: CIDR value "fd00::1/64" is ambiguous in this context (should be "fd00::/64" or "fd00::1/128"?)',
        ),
        ("010.0.0.0/8", 'p: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"'),
        (
            "2001:DB8::/32",
            'p: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
        ),
        ("::ffff:1.2.3.0/120", 'p: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"'),
        ("10.0.0.0/8", ""),
        ("x", ""),
    ],
)
def test_warnings_about_ranges(text, expected):
    assert cidr_warnings(text, "p") == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "of_family", "expected"),
    [
        ("01.1.1.1", "IPv4", 'p: non-standard IP address "01.1.1.1" is invalid: use "1.1.1.1"'),
        ("FD00::1", "IPv6", 'p: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'),
        ("::ffff:1.2.3.4", "IPv4", 'p: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'),
        ("fd00::1", "IPv6", ""),
        ("1.1.1.1", "IPv4", ""),
        ("x", "", ""),
    ],
)
def test_warnings_about_addresses(text, of_family, expected):
    assert ip_warnings(text, "p") == ([expected] if expected else [])
    assert family(text) == of_family


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("::", "may not be unspecified (::)"),
        ("127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("169.254.0.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("224.0.0.1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("x", "must be a valid IP address"),
        ("1.1.1.1", ""),
    ],
)
def test_addresses_that_no_endpoint_can_have(text, problem):
    assert special_problems(text) == ([problem] if problem else [])
