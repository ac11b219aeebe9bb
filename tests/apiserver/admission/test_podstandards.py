"""Pod security standards: what a violation says of several containers, and in which order it lists their values."""

import pytest

from fakekube.apiserver.admission.podstandards import APPARMOR, OTHER_VOLUMES, SYSCTLS, VOLUMES
from tests.apiserver.admission.test_podsecurity import GOOD, LATEST, context, messages, spec

SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"


def profiles(field, *types, pod=""):
    containers = [context(**{field: {"type": kind}}) if kind else {} for kind in types]
    return spec(*containers, **({"securityContext": {field: {"type": pod}}} if pod else {}))


def added(*lists):
    own = GOOD["securityContext"]
    return spec(*({"securityContext": {**own, "capabilities": {"drop": ["ALL"], "add": one}}} for one in lists))


def probed(**handlers):
    return {name: {kind: {"host": host}} for name, (kind, host) in handlers.items()}


@pytest.mark.parametrize(
    ("pod", "annotations", "expected"),
    [
        (profiles("appArmorProfile", "Y", "X", "Localhost"), {}, 'forbidden AppArmor profiles (containers "a", "b" must not set AppArmor profile type to "X", "Y")'),
        (profiles("appArmorProfile", "X", pod="W"), {}, 'forbidden AppArmor profiles (pod and container "a" must not set AppArmor profile type to "W", "X")'),
        (profiles("appArmorProfile", "", pod="W"), {}, 'forbidden AppArmor profile (pod must not set AppArmor profile type to "W")'),
        (spec(), {f"{APPARMOR}b": "x", f"{APPARMOR}a": "y", f"{APPARMOR}c": "", f"{APPARMOR}d": "localhost/x", f"{APPARMOR}e": "runtime/default", "other": "x"}, f'forbidden AppArmor profiles (annotations must not set AppArmor profile type to "{APPARMOR}a="y"", "{APPARMOR}b="x"")'),
        (profiles("appArmorProfile", "X"), {f"{APPARMOR}b": "x"}, f'forbidden AppArmor profiles (container "a" and annotation must not set AppArmor profile type to "X", "{APPARMOR}b="x"")'),
        (added(["SYS_TIME", "CHOWN"], ["BPF"], ["KILL"]), {}, 'non-default capabilities (containers "a", "b" must not include "BPF", "SYS_TIME" in securityContext.capabilities.add)'),
        (spec(hostIPC=True), {}, "host namespaces (hostIPC=true)"),
        (spec(volumes=[{"name": "v", "hostPath": {}}]), {}, 'hostPath volumes (volume "v")'),
        (spec({"ports": [{"hostPort": 9}]}, {"ports": [{"hostPort": 9}, {"hostPort": 0}]}), {}, 'hostPort (containers "a", "b" use hostPort 9)'),
        (spec({"ports": [{"hostPort": 9}, {"hostPort": 10}]}), {}, 'hostPort (container "a" uses hostPorts 10, 9)'),
        (spec(probed(readinessProbe=("tcpSocket", "h")), probed(startupProbe=("httpGet", "g"), livenessProbe=("tcpSocket", ""))), {}, 'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "g", "h")'),
        (spec({"name": "z", "lifecycle": {"postStart": {"httpGet": {"host": "h"}}}}, {"lifecycle": {"preStop": {"httpGet": {"host": "h"}}}}), {}, 'probe or lifecycle host (containers "b", "z" use probe or lifecycle host "h")'),
        (profiles("procMount"), {}, ""),
        (spec(context(procMount="Z"), context(procMount="Default"), context(procMount="Y")), {}, 'procMount (containers "a", "c" must not set securityContext.procMount to "Y", "Z")'),
        (spec(context(seLinuxOptions={"type": "z"}), context(seLinuxOptions={"type": "y"}), context(seLinuxOptions={"type": "container_t"})), {}, 'seLinuxOptions (containers "a", "b" set forbidden securityContext.seLinuxOptions: types "y", "z")'),
        (spec(context(seLinuxOptions={"role": "r"})), {}, 'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: role may not be set)'),
        (spec(securityContext={"seLinuxOptions": {"user": "r"}}), {}, "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)"),
        (profiles("seccompProfile", "Y", "X", "RuntimeDefault"), {}, 'seccompProfile (containers "a", "b" must not set securityContext.seccompProfile.type to "X", "Y")'),
        (profiles("seccompProfile", "Y", pod="Z"), {}, 'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Y", "Z")'),
        (spec(securityContext={"sysctls": [{"name": "z"}, {"name": "a"}]}), {}, "forbidden sysctls (z, a)"),
        (spec(context(windowsOptions={"hostProcess": True}), context(windowsOptions={"hostProcess": False})), {}, 'hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)'),
    ],
)  # fmt: skip
def test_what_baseline_says_of_several_values(pod, annotations, expected):
    assert messages("baseline", LATEST, pod, annotations) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (added(["SYS_TIME", "NET_BIND_SERVICE"], ["CHOWN"], ["NET_BIND_SERVICE"]), 'unrestricted capabilities (containers "a", "b" must not include "CHOWN", "SYS_TIME" in securityContext.capabilities.add)'),
        (spec({"securityContext": {**GOOD["securityContext"], "capabilities": {"add": ["BPF"], "drop": ["X"]}}}, GOOD), 'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "BPF" in securityContext.capabilities.add)'),
        (spec({"securityContext": {**GOOD["securityContext"], "allowPrivilegeEscalation": None}}, {"securityContext": {**GOOD["securityContext"], "allowPrivilegeEscalation": True}}, GOOD), 'allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false)'),
        (spec({"securityContext": {**GOOD["securityContext"], "runAsNonRoot": False}}, GOOD), 'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)'),
        (spec({"securityContext": {**GOOD["securityContext"], "runAsNonRoot": None}}, GOOD), 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)'),
        (spec({"securityContext": {**GOOD["securityContext"], "runAsNonRoot": None}}, securityContext={"runAsNonRoot": True}), ""),
        (spec({"securityContext": {**GOOD["securityContext"], "runAsUser": 0}}, {"securityContext": {**GOOD["securityContext"], "runAsUser": 1}}), 'runAsUser=0 (container "a" must not set runAsUser=0)'),
        (spec({"securityContext": {**GOOD["securityContext"], "seccompProfile": None}}, GOOD), 'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'),
        (spec({"securityContext": {**GOOD["securityContext"], "seccompProfile": None}}, securityContext={"seccompProfile": {"type": "Localhost"}}), ""),
        (spec(GOOD, volumes=[{"name": "v"}]), 'restricted volume types (volume "v" uses restricted volume type "unknown")'),
        *((spec(GOOD, volumes=[{"name": "v", kind: {}}]), "") for kind in VOLUMES),
        *((spec(GOOD, volumes=[{"name": "v", kind: {}}]), f'restricted volume types (volume "v" uses restricted volume type "{kind}")') for kind in OTHER_VOLUMES),
    ],
)  # fmt: skip
def test_what_restricted_says_of_several_values(pod, expected):
    assert messages("restricted", LATEST, pod) == ([expected] if expected else [])


def test_the_kinds_of_containers_in_their_order():
    bad = context(privileged=True)
    pod = {"ephemeralContainers": [{"name": "e", **bad}], "containers": [{"name": "c", **bad}], "initContainers": [{"name": "i", **bad}]}  # fmt: skip
    assert messages("baseline", LATEST, pod) == ['privileged (containers "i", "c", "e" must not set securityContext.privileged=true)']  # fmt: skip


def test_seccomp_annotations_of_several_containers():
    key = "container.seccomp.security.alpha.kubernetes.io/"
    given = {
        f"{key}b": "x",
        f"{key}a": "unconfined",
        f"{key}c": "docker/default",
        SECCOMP: "localhost/x",
        f"{key}no": "x",
    }
    assert messages("baseline", 18, spec({}, {}, {}), given) == [
        f'seccompProfile (forbidden annotations {key}a="unconfined", {key}b="x")'
    ]
    assert messages("baseline", 18, spec(), {SECCOMP: "runtime/default"}) == []


@pytest.mark.parametrize("since", SYSCTLS)
def test_sysctls_are_safe_since_their_version(since):
    for name in SYSCTLS[since]:
        pod = spec(securityContext={"sysctls": [{"name": name}]})
        before = [f"forbidden sysctls ({name})"] if since else []
        assert (messages("baseline", since, pod), messages("baseline", since - 1, pod)) == ([], before)


@pytest.mark.parametrize(
    ("level", "minor", "pod", "reason"),
    [
        ("baseline", 34, spec({"livenessProbe": {"httpGet": {"host": "h"}}}), "probe or lifecycle host"),
        ("baseline", 31, spec(context(seLinuxOptions={"type": "container_engine_t"})), ""),
        ("restricted", 7, spec(context(runAsNonRoot=True)), ""),
        ("restricted", 8, spec(context(runAsNonRoot=True)), "allowPrivilegeEscalation != false"),
        ("restricted", 18, spec({**context(runAsNonRoot=True, allowPrivilegeEscalation=False)}), ""),
        ("restricted", 19, spec({**context(runAsNonRoot=True, allowPrivilegeEscalation=False)}), "seccompProfile"),
        ("restricted", 21, spec(context(**{**GOOD["securityContext"], "capabilities": {}})), ""),
        ("restricted", 22, spec(context(**{**GOOD["securityContext"], "capabilities": {}})), "unrestricted capabilities"),
        ("restricted", 23, spec(GOOD, securityContext={"runAsUser": 0}), "runAsUser=0"),
        ("restricted", 34, spec(GOOD, securityContext={"runAsUser": 0}, hostUsers=False), "runAsUser=0"),
        ("restricted", 34, spec(GOOD, securityContext={"runAsNonRoot": False}, hostUsers=False), "runAsNonRoot != true"),
        ("restricted", 35, spec(GOOD, securityContext={"runAsUser": 0, "runAsNonRoot": False}, hostUsers=False), ""),
        ("restricted", 25, spec(context(runAsNonRoot=True), os={"name": "windows"}), ""),
    ],
)  # fmt: skip
def test_rules_begin_with_their_version(level, minor, pod, reason):
    assert [one.partition(" (")[0] for one in messages(level, minor, pod)] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("sysctl", "first"),
    [
        ("kernel.shm_rmid_forced", 0),
        ("net.ipv4.ip_local_port_range", 0),
        ("net.ipv4.ip_unprivileged_port_start", 0),
        ("net.ipv4.tcp_syncookies", 0),
        ("net.ipv4.ping_group_range", 0),
        ("net.ipv4.ip_local_reserved_ports", 27),
        ("net.ipv4.tcp_keepalive_time", 29),
        ("net.ipv4.tcp_fin_timeout", 29),
        ("net.ipv4.tcp_keepalive_intvl", 29),
        ("net.ipv4.tcp_keepalive_probes", 29),
        ("net.ipv4.tcp_rmem", 32),
        ("net.ipv4.tcp_wmem", 32),
    ],
)
def test_the_version_since_which_a_sysctl_is_safe(sysctl, first):
    """`policy/check_sysctls.go`."""
    pod = spec(securityContext={"sysctls": [{"name": sysctl}]})
    refused = [minor for minor in range(37) if messages("baseline", minor, pod)]
    assert refused == list(range(first))
