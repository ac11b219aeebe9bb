"""Services, ingresses, policies, endpoints and ranges: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import (
    as_new,
    check_new,
    check_status,
    check_update,
    complete,
    merged,
    strategy,
    texts,
)
from tests.apiserver.validation.test_networks import service


def lb(**s):
    return service(type="LoadBalancer", **s)


SRC, MODE, HINTS = (
    "service.beta.kubernetes.io/load-balancer-source-ranges",
    "service.kubernetes.io/topology-mode",
    "service.kubernetes.io/topology-aware-hints",
)

ING = {
    "spec": {
        "rules": [
            {
                "host": "a.example.com",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "s", "port": {"number": 80}}},
                        }
                    ]
                },
            }
        ]
    }
}


def path(**p):
    return {
        "spec": {
            "rules": [
                {
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                **p,
                            }
                        ]
                    }
                }
            ]
        }
    }


NP = {"spec": {"podSelector": {}}}


def peer(**p):
    return merged(NP, {"spec": {"ingress": [{"from": [p]}]}})


def nport(**p):
    return merged(NP, {"spec": {"ingress": [{"ports": [p]}]}})


CIDRS = {"spec": {"cidrs": ["10.0.0.0/24"]}}
NEW = [
    ("Service", merged(service(), {"metadata": {"annotations": {MODE: "Auto", HINTS: "Disabled"}}}), ['metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match annotations[service.kubernetes.io/top…']),
    ("Service", service(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}, sessionAffinity="ClientIP"), ['spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400']),
    ("Service", service(clusterIP="", clusterIPs=["10.0.0.9"]), ['spec.clusterIPs: Invalid value: ["10.0.0.9"]: must be empty when `clusterIP` is not specified']),
    ("Service", service(clusterIP="None", clusterIPs=["None", "10.0.0.9"]), ['spec.clusterIPs: Invalid value: ["None","10.0.0.9"]: \'None\' must be the first and only value']),
    ("Service", service(clusterIPs=["10.0.0.9", "10.0.0.10", "10.0.0.11"]), [
        'spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.10","10.0.0.11"]: may only hold up to 2 values',
        'spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.10","10.0.0.11"]: may specify no more than one IP for each IP family',
    ]),
    ("Service", service(clusterIPs=["10.0.0.9", "10.0.0.10"]), ['spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.10"]: may specify no more than one IP for each IP family']),
    ("Service", service(ipFamilies=["IPv6", "IPv6", "IPv5"]), [
        'spec.ipFamilies[1]: Duplicate value: "IPv6"',
        'spec.ipFamilies[2]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.clusterIPs[0]: Invalid value: "10.0.0.9": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ]),
    ("Service", service(clusterIPs=["10.0.0.10"]), ['spec.clusterIPs: Invalid value: ["10.0.0.10"]: first value must match `clusterIP`']),
    ("Service", service(clusterIPs=[]), ['spec.clusterIPs: Required value']),
    ("Service", service(type="NodePort", ports=[{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30001}]), ['spec.ports[1].nodePort: Duplicate value: 30001']),
    ("Service", service(ports=[{"port": 1, "nodePort": 30001}]), ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]),
    ("Service", merged(lb(), {"metadata": {"annotations": {SRC: "10.0.0.0/8, x"}}}), ['metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "x": must be a valid CIDR value, (e.g…']),
    ("Service", merged(service(), {"metadata": {"annotations": {SRC: "10.0.0.0/8"}}}), ["metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Forbidden: may only be used when `type` is 'LoadBalancer'"]),
    ("Service", lb(loadBalancerSourceRanges=["10.0.0.0/8 ", "y"]), ['spec.LoadBalancerSourceRanges[1]: Invalid value: "y": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']),
    ("Service", service(loadBalancerSourceRanges=["10.0.0.0/8"], loadBalancerClass="c", allocateLoadBalancerNodePorts=True, trafficDistribution="Far", healthCheckNodePort=30001, externalTrafficPolicy="Local"), [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ]),
    ("Service", lb(loadBalancerClass="a b", externalTrafficPolicy="Local", healthCheckNodePort=0), [
        'spec.loadBalancerClass: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start a…',
        'spec.healthCheckNodePort: Required value',
    ]),
    ("Service", lb(externalTrafficPolicy="Local", healthCheckNodePort=70000), ['spec.healthCheckNodePort: Invalid value: 70000: must be between 1 and 65535, inclusive']),
    ("Service", lb(clusterIP="None", clusterIPs=["None"]), ['spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for LoadBalancer services']),
    ("Service", {"spec": {"type": "ExternalName", "externalName": "a.example.com.", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}}, [
        'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
        'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
    ]),
    ("Endpoints", {"subsets": [{"addresses": [{"ip": "1.2.3.4", "hostname": "A", "nodeName": "B"}], "ports": [{"port": 1}, {"port": 2, "name": "b", "protocol": "X", "appProtocol": "a b"}]}]}, [
        'subsets[0].addresses[0].hostname: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric character…',
        'subsets[0].addresses[0].nodeName: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric chara…',
        'subsets[0].ports[0].name: Required value',
        'subsets[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        'subsets[0].ports[1].appProtocol: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and mus…',
    ]),
    ("EndpointSlice", {"addressType": "FQDN", "endpoints": [{"addresses": ["a..b", "abc", "a.example.com.", ""]}]}, [
        'endpoints[0].addresses[0]: Invalid value: "a..b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric character…',
        'endpoints[0].addresses[1]: Invalid value: "abc": should be a domain with at least two segments separated by dots',
        'endpoints[0].addresses[3]: Required value',
    ]),
    ("EndpointSlice", {"addressType": "FQDN", "endpoints": [{"addresses": ["a." + "x" * 64]}]}, [
        'endpoints[0].addresses[0]: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 characters',
    ]),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}, {"name": "b c"}], "forNodes": [{"name": "N"}]}, "nodeName": "A", "hostname": "B"}]}, [
        'endpoints[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\' …',
        'endpoints[0].hostname: Invalid value: "B": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \'-\', a…',
        'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
        'endpoints[0].hints.forZones[2].name: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric charac…',
        'endpoints[0].hints.forNodes[0].name: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ch…',
    ]),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["::1"], "hints": {"forZones": [{"name": f"z{i}"} for i in range(9)]}}]}, [
        'endpoints[0].addresses: Invalid value: "::1": must be an IPv4 address',
        'endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'endpoints[0].hints.forZones: Too many: 9: must have at most 8 items',
    ]),
    ("EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["01.2.3.4"]}, {"addresses": []}]}, [
        'endpoints[0].addresses[0]: Invalid value: "01.2.3.4": must not have leading 0s',
        'endpoints[1].addresses: Required value: must contain at least 1 address',
    ]),
    ("EndpointSlice", {"addressType": "IPv4", "ports": [{"name": "a"}, {"name": "a", "protocol": "X", "appProtocol": "a b"}]}, [
        'ports[1].name: Duplicate value: "a"',
        'ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        'ports[1].appProtocol: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start and…',
    ]),
    ("Ingress", merged(ING, {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}, "spec": {"ingressClassName": "b"}}), ['annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified']),
    ("Ingress", merged(ING, {"spec": {"tls": [{"hosts": ["*.a", "A"], "secretName": "B"}], "ingressClassName": "C"}}), [
        'spec.tls[0].hosts[1]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\' o…',
        'spec.tls[0].secretName: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\'…',
        'spec.ingressClassName: Invalid value: "C": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\' …',
    ]),
    ("Ingress", path(backend={"service": {"name": "S", "port": {"name": "a", "number": 1}}}), [
        'spec.rules[0].http.paths[0].backend.service.name: Invalid value: "S": a lowercase RFC 1123 label must consist of lower case alphan…',
        'spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number',
    ]),
    ("Ingress", path(backend={"service": {"name": "s", "port": {"name": "A_"}}}), [
        'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "A_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "A_": must contain at least one letter (a-z)',
    ]),
    ("Ingress", path(backend={"service": {"name": "s"}}), ['spec.rules[0].http.paths[0].backend: Required value: port name or number is required']),
    ("Ingress", path(backend={"resource": {"kind": "", "name": "a/b", "apiGroup": "A"}}), [
        'spec.rules[0].http.paths[0].backend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ca…',
        'spec.rules[0].http.paths[0].backend.resource.kind: Required value',
        'spec.rules[0].http.paths[0].backend.resource.name: Invalid value: "a/b": may not contain \'/\'',
    ]),
    ("Ingress", path(backend={}), ['spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required']),
    ("Ingress", path(backend={"service": {"name": "s"}, "resource": {"kind": "K", "name": "n"}}), ['spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends']),
    ("Ingress", path(path="a//b/..", pathType="Exact"), [
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": must be an absolute path',
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": must not contain \'//\'',
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": cannot end with \'/..\'',
    ]),
    ("Ingress", path(path="", pathType="ImplementationSpecific"), []),
    ("Ingress", path(pathType="Any"), ['spec.rules[0].http.paths[0].pathType: Unsupported value: "Any": supported values: "Exact", "ImplementationSpecific", "Prefix"']),
    ("Ingress", {"spec": {"rules": [{"host": "1.2.3.4"}, {"host": "*.A"}, {"host": "*."+"a."*130+"b"}]}}, [
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
        'spec.rules[1].host: Invalid value: "*.A": a wildcard DNS-1123 subdomain must start with \'*.\', followed by a valid DNS subdomain, w…',
        'spec.rules[2].host: Invalid value: "*.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…',
    ]),
    ("IngressClass", {"spec": {"controller": "a.example.com/" + "x" * 250, "parameters": {"kind": "K", "name": "n", "scope": "Cluster", "namespace": "n"}}}, ['spec.controller: Too long: may not be more than 250 bytes', "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"]),
    ("IngressClass", {"spec": {"controller": "a", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}}, [
        'spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")',
        "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ]),
    ("NetworkPolicy", peer(ipBlock={"cidr": "x", "except": ["10.0.0.0/24", "y"]}), ['spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']),
    ("NetworkPolicy", peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["11.0.0.0/24", "10.0.0.0/8", "y", "10.1.0.0/16"]}), [
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/24": must be a strict subset of `cidr`',
        'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        'spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: "y": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ]),
    ("NetworkPolicy", peer(ipBlock={"cidr": "10.0.0.0/8"}, podSelector={}), ['spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer']),
    ("NetworkPolicy", peer(), ['spec.ingress[0].from[0]: Required value: must specify a peer']),
    ("NetworkPolicy", peer(ipBlock={"cidr": ""}), ['spec.ingress[0].from[0].ipBlock.cidr: Required value']),
    ("NetworkPolicy", nport(port="http", endPort=5), ['spec.ingress[0].ports[0].endPort: Invalid value: 5: may not be specified when `port` is non-numeric']),
    ("NetworkPolicy", nport(port="A_"), [
        'spec.ingress[0].ports[0].port: Invalid value: "A_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.ingress[0].ports[0].port: Invalid value: "A_": must contain at least one letter (a-z)',
    ]),
    ("NetworkPolicy", nport(port=80, endPort=70), ['spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`']),
    ("NetworkPolicy", nport(port=80, endPort=70000, protocol="X"), [
        'spec.ingress[0].ports[0].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"',
        'spec.ingress[0].ports[0].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ]),
    ("NetworkPolicy", nport(endPort=1), ['spec.ingress[0].ports[0].endPort: Invalid value: 1: may not be specified when `port` is not specified']),
    ("NetworkPolicy", merged(NP, {"spec": {"policyTypes": ["Ingress", "Egress", "Ingress"]}}), ['spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes']),
    ("NetworkPolicy", merged(NP, {"spec": {"policyTypes": ["Both"]}}), ['spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"']),
    ("ServiceCIDR", {"spec": {"cidrs": ["10.0.0.0/24", "10.0.1.0/24", "2001:db8::/64"]}}, ['spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","10.0.1.0/24","2001:db8::/64"]}: may only hold up to 2 values']),
    ("ServiceCIDR", {"spec": {"cidrs": ["10.0.0.0/24", "10.0.1.0/24"]}}, [
        'spec.cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ]),
    ("ServiceCIDR", {"spec": {"cidrs": ["10.0.0.1/24", "2001:DB8::/64"]}}, [
        'spec.cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length',
        'spec.cidrs[1]: Invalid value: "2001:DB8::/64": must be in canonical form ("2001:db8::/64")',
    ]),
    ("ServiceCIDR", {"spec": {"cidrs": []}}, ['spec.cidrs: Required value: at least one CIDR required']),
    ("IPAddress", {"spec": {"parentRef": {"group": "A", "resource": "a/b", "name": "", "namespace": "c%"}}}, [
        'spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'-\' o…',
        'spec.parentRef.resource: Invalid value: "a/b": may not contain \'/\'',
        'spec.parentRef.name: Required value',
        'spec.parentRef.namespace: Invalid value: "c%": may not contain \'%\'',
    ]),
    ("IPAddress", {"spec": {}}, ['spec.parentRef: Required value']),
]  # fmt: skip

DUAL = service(clusterIPs=["10.0.0.9", "2001:db8::1"], ipFamilies=["IPv4", "IPv6"], ipFamilyPolicy="PreferDualStack")

CHANGED = [
    ("Service", lb(loadBalancerClass="a"), {"spec": {"loadBalancerClass": "b"}}, ['spec.loadBalancerClass: Invalid value: "b": may not change once set']),
    ("Service", lb(externalTrafficPolicy="Local", healthCheckNodePort=30001), {"spec": {"healthCheckNodePort": 30002}}, ['spec.healthCheckNodePort: Forbidden: field is immutable']),
    ("Service", service(), {"spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"]}}, ['spec.clusterIPs[0]: Invalid value: ["10.0.0.10"]: may not change once set']),
    ("Service", service(), {"spec": {"clusterIP": None, "clusterIPs": None}}, ['spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset']),
    ("Service", service(ipFamilies=["IPv4"]), {"spec": {"ipFamilies": ["IPv6"]}}, [
        'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
        'spec.clusterIPs[0]: Invalid value: "10.0.0.9": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ]),
    ("Service", DUAL, {"spec": {"clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8"], "ipFamilies": ["IPv6"]}}, [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set',
        'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary clusterIP',
        'spec.ipFamilies[0]: Invalid value: ["10.0.0.8"]: may not change once set',
        'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary ipFamily',
        'spec.clusterIPs[0]: Invalid value: "10.0.0.8": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ]),
    ("Service", DUAL, {"metadata": {"labels": {"a": "b"}}}, []),
    ("Service", DUAL, {"spec": {"clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}}, []),
    ("Service", DUAL, {"spec": {"clusterIPs": ["10.0.0.9", "2001:db8::2"]}}, ['spec.clusterIPs[1]: Invalid value: ["10.0.0.9","2001:db8::2"]: may not change once set']),
    ("Service", DUAL, {"spec": {"clusterIPs": ["10.0.0.9"]}}, ['spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary clusterIP']),
    ("Service", DUAL, {"spec": {"ipFamilies": ["IPv4"]}}, ['spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing the secondary ipFamily']),
    ("Service", service(ipFamilies=["IPv4"]), {"spec": {"clusterIPs": ["10.0.0.9", "2001:db8::1"], "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"}}, []),
    ("ServiceCIDR", CIDRS, {"spec": {"cidrs": ["10.0.0.0/24", "2001:db8::/64"]}}, []),
    ("ServiceCIDR", CIDRS, {"spec": {"cidrs": ["10.0.1.0/24"]}}, ['spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']),
    ("ServiceCIDR", CIDRS, {"spec": {"cidrs": []}}, ['spec.cidrs: Invalid value: null: field is immutable']),
    ("IPAddress", {"spec": {"parentRef": {"resource": "services", "name": "a"}}}, {"spec": {"parentRef": {"name": "b"}}}, ['spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"b"}: field is immutable']),
    ("IngressClass", {"spec": {"controller": "a.example.com/b"}}, {"spec": {"controller": "a.example.com/c"}}, ['spec.controller: Invalid value: "a.example.com/c": field is immutable']),
    ("EndpointSlice", {"addressType": "IPv4"}, {"addressType": "IPv6"}, ['addressType: Invalid value: "IPv6": field is immutable']),
    ("Endpoints", {"subsets": [{"addresses": [{"ip": "01.2.3.4"}]}]}, {"subsets": [{"addresses": [{"ip": "01.2.3.4"}], "ports": [{"port": 1}]}]}, []),
    ("NetworkPolicy", peer(ipBlock={"cidr": "10.0.0.1/8"}), {"metadata": {"labels": {"a": "b"}}}, []),
    ("Ingress", {"spec": {"rules": [{"host": "*.a.example.com", "http": {"paths": []}}], "tls": [{"secretName": "A"}]}}, {"metadata": {"labels": {"a": "b"}}}, []),
]  # fmt: skip

STATUSES = [
    ("Service", lb(), {"loadBalancer": {"ingress": [{"ip": "1.2.3"}, {"ipMode": "VIP"}, {"ip": "1.2.3.4", "ipMode": "X", "hostname": "1.2.3.4"}]}}, None, [
        'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set',
        'status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set',
        'status.loadBalancer.ingress[2].ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"',
        'status.loadBalancer.ingress[2].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ]),
    ("Service", service(), {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, None, ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]),
    ("Ingress", ING, {"loadBalancer": {"ingress": [{"ip": "1.2.3"}, {"ip": "01.2.3.4"}, {"hostname": "::1"}]}}, {"loadBalancer": {"ingress": [{"ip": "01.2.3.4"}]}}, [
        'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'status.loadBalancer.ingress[2].hostname: Invalid value: "::1": a lowercase RFC 1123 subdomain must consist of lower case alphanume…',
        'status.loadBalancer.ingress[2].hostname: Invalid value: "::1": must be a DNS name, not an IP address',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)


@pytest.mark.parametrize(("kind", "obj", "status", "before", "expected"), STATUSES)
def test_status(kind, obj, status, before, expected):
    check_status(kind, obj, status, before, expected)


def test_ranges_of_addresses_that_were_stored_are_not_validated_again():
    """`ValidateServiceCIDRUpdate` validates only ranges that get a second one."""
    for cidrs in (["10.0.0.1/24"], ["10.0.0.0/24", "10.0.1.0/24"]):
        check_update("ServiceCIDR", {"spec": {"cidrs": cidrs}}, {"metadata": {"labels": {"a": "b"}}}, [])


NAME = "a_b"


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ([{"secretName": "a"}], [{"secretName": NAME}], True),
        ([{"secretName": NAME}], [{"secretName": NAME}], False),
        ([{"secretName": "a"}, {"secretName": NAME}], [{"secretName": f"{NAME}_c"}], False),
        ([{}, {"secretName": NAME}], [{"secretName": NAME}], False),
    ],
)
def test_a_secret_of_an_ingress_has_a_name_unless_one_had_none(before, after, refused):
    old = as_new("Ingress", ING)
    old["spec"]["tls"] = before
    new = complete("Ingress", ING)
    new["metadata"] |= {key: old["metadata"][key] for key in ("uid", "creationTimestamp")}
    new["spec"]["tls"] = after
    found = texts(strategy("Ingress").validate_update(new, old))
    assert [one.partition(":")[0] for one in found] == (["spec.tls[0].secretName"] if refused else [])
