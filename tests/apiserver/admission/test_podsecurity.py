"""Pod security standards: their checks by version, their messages, and the updates that are checked."""

import pytest

from fakekube.apiserver.admission import podsecurity
from fakekube.apiserver.admission.podsecurity import Standard, policy_of
from fakekube.apiserver.admission.podstandards import BASELINE, RESTRICTED, checks, violations
from tests.apiserver.api import PODS

LATEST = 36
NAMESPACES = "/api/v1/namespaces"


def spec(*containers, **more):
    containers = [{"name": chr(97 + i), "image": "i", **one} for i, one in enumerate(containers or ({},))]
    return {"containers": containers, **more}


def context(**fields):
    return {"securityContext": fields}


GOOD = context(
    allowPrivilegeEscalation=False, capabilities={"drop": ["ALL"]}, runAsNonRoot=True,
    seccompProfile={"type": "RuntimeDefault"},
)  # fmt: skip


OWN_USERS_PROC = spec({"securityContext": {**GOOD["securityContext"], "procMount": "Unmasked"}}, hostUsers=False)


def messages(level, minor, pod, annotations=None):
    return [str(one) for one in violations(level, minor, {"annotations": annotations or {}}, pod)]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(spec(), [], id="empty"),
        pytest.param(spec(hostPID=True, hostNetwork=True), ["host namespaces (hostNetwork=true, hostPID=true)"], id="host"),
        pytest.param(
            spec(volumes=[{"name": "v", "hostPath": {}}, {"name": "w", "hostPath": {}}]),
            ['hostPath volumes (volumes "v", "w")'],
            id="paths",
        ),
        pytest.param(
            spec({"ports": [{"hostPort": 80}, {"hostPort": 8}]}, {"ports": [{"containerPort": 1}]}),
            ['hostPort (container "a" uses hostPorts 8, 80)'],
            id="ports",
        ),
        pytest.param(
            spec(context(privileged=True), context(privileged=True)),
            ['privileged (containers "a", "b" must not set securityContext.privileged=true)'],
            id="privileged",
        ),
        pytest.param(
            spec(context(capabilities={"add": ["NET_RAW", "CHOWN", "BPF"]})),
            ['non-default capabilities (container "a" must not include "BPF", "NET_RAW" in '
             "securityContext.capabilities.add)"],
            id="capabilities",
        ),
        pytest.param(
            spec(context(seLinuxOptions={"type": "x", "user": "u"}), securityContext={"seLinuxOptions": {"role": "r"}}),
            ['seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: type "x"; '
             "user may not be set; role may not be set)"],
            id="selinux",
        ),
        pytest.param(
            spec(context(seccompProfile={"type": "Unconfined"})),
            ['seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")'],
            id="seccomp",
        ),
        pytest.param(
            spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}, {"name": "kernel.x"}]}),
            ["forbidden sysctls (kernel.x)"],
            id="sysctls",
        ),
        pytest.param(
            spec({"livenessProbe": {"httpGet": {"host": "h"}}, "lifecycle": {"preStop": {"tcpSocket": {"host": "g"}}}}),
            ['probe or lifecycle host (container "a" uses probe or lifecycle hosts "g", "h")'],
            id="probe-hosts",
        ),
        pytest.param(
            spec(securityContext={"windowsOptions": {"hostProcess": True}}),
            ["hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"],
            id="windows",
        ),
        pytest.param(
            spec(context(appArmorProfile={"type": "Unconfined"})),
            ['forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")'],
            id="apparmor",
        ),
        pytest.param(
            spec(context(procMount="Unmasked")),
            ['procMount (container "a" must not set securityContext.procMount to "Unmasked")'],
            id="proc",
        ),
        pytest.param(spec(context(procMount="Unmasked"), hostUsers=False), [], id="proc-of-own-users"),
    ],
)  # fmt: skip
def test_baseline(pod, expected):
    assert messages("baseline", LATEST, pod) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(spec(GOOD), [], id="complete"),
        pytest.param(
            spec(),
            [
                'allowPrivilegeEscalation != false (container "a" must set '
                "securityContext.allowPrivilegeEscalation=false)",
                'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])',
                'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
                'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")',
            ],
            id="no-security-context",
        ),
        pytest.param(
            spec(GOOD, volumes=[{"name": "v", "nfs": {}}, {"name": "w", "hostPath": {}}, {"name": "x", "secret": {}}]),
            ['restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")'],
            id="each-volume-type-once",
        ),
        pytest.param(
            spec(GOOD, securityContext={"runAsNonRoot": False, "runAsUser": 0}),
            [
                "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
                "runAsUser=0 (pod must not set runAsUser=0)",
            ],
            id="root",
        ),
        pytest.param(
            spec(GOOD, securityContext={"runAsNonRoot": False, "runAsUser": 0}, hostUsers=False),
            [],
            id="root-of-its-own",
        ),
        pytest.param(spec(context(runAsNonRoot=True), os={"name": "windows"}), [], id="windows-has-no-such-fields"),
        pytest.param(
            spec({"securityContext": {**GOOD["securityContext"], "procMount": "Unmasked"}}, hostUsers=False),
            ['procMount (container "a" must not set securityContext.procMount to "Unmasked")'],
            id="proc-even-of-own-users",
        ),
    ],
)
def test_restricted(pod, expected):
    assert messages("restricted", LATEST, pod) == expected


@pytest.mark.parametrize(
    ("level", "minor", "pod", "count"),
    [
        pytest.param("baseline", 33, spec({"livenessProbe": {"httpGet": {"host": "h"}}}), 0, id="hosts-since-1.34"),
        pytest.param(
            "baseline", 31, spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), 1, id="sysctl"
        ),
        pytest.param("baseline", 30, spec(context(seLinuxOptions={"type": "container_engine_t"})), 1, id="selinux"),
        pytest.param(
            "baseline", 34, spec(context(procMount="Unmasked"), hostUsers=False), 1, id="own-users-since-1.35"
        ),
        pytest.param("restricted", 0, spec(), 1, id="only-root-in-1.0"),
        pytest.param("restricted", 35, OWN_USERS_PROC, 1, id="proc-even-of-own-users-since-1.35"),
        pytest.param("baseline", 35, OWN_USERS_PROC, 0, id="proc-of-own-users-since-1.35"),
        pytest.param("restricted", 24, spec(context(runAsNonRoot=True), os={"name": "windows"}), 3, id="windows"),
        pytest.param("restricted", 22, spec(GOOD, securityContext={"runAsUser": 0}), 0, id="user-since-1.23"),
        pytest.param("privileged", LATEST, spec(hostPID=True), 0, id="privileged"),
    ],
)
def test_standards_change_with_versions(level, minor, pod, count):
    assert len(messages(level, minor, pod)) == count


def test_deprecated_annotations():
    key = "seccomp.security.alpha.kubernetes.io/pod"
    assert messages("baseline", 18, spec(), {key: "unconfined"}) == [
        f'seccompProfile (forbidden annotation {key}="unconfined")'
    ]
    assert messages("baseline", 19, spec(), {key: "unconfined"}) == []


def test_violations_are_sorted_by_rule():
    for rules in (BASELINE, RESTRICTED):
        assert list(rules) == sorted(rules)
    assert len(checks("restricted", LATEST)) == len(BASELINE) + len(RESTRICTED) - 4


# --- labels of namespaces -------------------------------------------------------------------------------------------


def labels(**values):
    return {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in values.items()}


@pytest.mark.parametrize(
    ("given", "enforced", "warned", "wrong"),
    [
        pytest.param({}, "privileged:latest", "privileged:latest", 0, id="none"),
        pytest.param({"enforce": "baseline"}, "baseline:latest", "baseline:latest", 0, id="warns-of-what-it-enforces"),
        pytest.param(
            {"enforce": "baseline", "enforce_version": "v1.20"}, "baseline:v1.20", "baseline:v1.20", 0, id="version"
        ),
        pytest.param({"enforce": "baseline", "warn": "privileged"}, "baseline:latest", "privileged:latest", 0, id="quiet"),
        pytest.param({"warn": "restricted"}, "privileged:latest", "restricted:latest", 0, id="warns-only"),
        pytest.param({"enforce": "x"}, "restricted:latest", "privileged:latest", 1, id="what-is-no-level-is-strict"),
        pytest.param({"warn": "x", "audit": "y"}, "privileged:latest", "privileged:latest", 2, id="no-levels"),
        pytest.param({"enforce_version": "1.2", "warn_version": "v1.02"}, "privileged:latest", "privileged:latest", 2,
                     id="no-versions"),
    ],
)  # fmt: skip
def test_labels_select_standards(given, enforced, warned, wrong):
    policy = policy_of(labels(**given))
    assert (str(policy.enforce), str(policy.warn), len(policy.errors)) == (enforced, warned, wrong)


def pod(name="a", **more):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec(**more)}


def labelled(api, **values):
    return api.ok("PATCH", f"{NAMESPACES}/default", {"metadata": {"labels": labels(**values)}},
                  content_type="application/merge-patch+json")  # fmt: skip


def test_invalid_labels_are_rejected_once(api):
    code, _, message = api.refused("POST", NAMESPACES, {"metadata": {"name": "n", "labels": labels(enforce="x")}})
    assert code == 422
    assert message == (
        'Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": '
        "must be one of privileged, baseline, restricted"
    )


def test_violating_pods_are_rejected_or_warned_about(api):
    labelled(api, enforce="baseline", warn="restricted")
    _, _, message = api.refused("POST", PODS, pod(hostPID=True))
    assert message == 'pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    response = api.answer("POST", PODS, pod())
    assert response.status == 201
    assert response.warnings[-1].startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation')


def test_a_pinned_version_keeps_its_rules(api):
    labelled(api, enforce="restricted", enforce_version="v1.0")
    _, _, message = api.refused("POST", PODS, pod())
    assert message.endswith(
        'violates PodSecurity "restricted:v1.0": runAsNonRoot != true (pod or container "a" must set '
        "securityContext.runAsNonRoot=true)"
    )


def test_only_updates_of_images_and_ephemeral_containers_are_checked(api):
    api.ok("POST", PODS, pod(hostPID=True))
    labelled(api, enforce="baseline")
    merge = {"content_type": "application/merge-patch+json"}
    api.ok("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}}, **merge)
    image = {"spec": {"containers": [{"name": "a", "image": "other"}]}}
    strategic = {"content_type": "application/strategic-merge-patch+json"}
    assert api.refused("PATCH", f"{PODS}/a", image, **strategic)[0] == 403
    debugger = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
    code, _, message = api.refused("PATCH", f"{PODS}/a/ephemeralcontainers", debugger, **strategic)
    assert (code, "violates PodSecurity" in message) == (403, True)


def test_a_stricter_namespace_warns_about_existing_pods(api):
    for name in ("a", "b", "c"):
        api.ok("POST", PODS, pod(name, hostPID=True))
    api.ok("POST", PODS, pod("z", hostNetwork=True, hostIPC=True))
    response = api.answer(
        "PATCH", f"{NAMESPACES}/default", {"metadata": {"labels": labels(enforce="baseline")}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    assert response.warnings == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 3 other pods): host namespaces",
    ]
    relaxed = api.answer(
        "PATCH", f"{NAMESPACES}/default", {"metadata": {"labels": labels(enforce="privileged")}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    assert relaxed.warnings == []


def test_violating_workloads_cause_warnings(api):
    labelled(api, enforce="baseline")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec(hostPID=True)}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    response = api.answer("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert response.status == 201
    assert response.warnings == ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']


def test_annotations_of_a_template_count(api):
    labelled(api, enforce="baseline")
    key = "container.apparmor.security.beta.kubernetes.io/a"
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {key: "unconfined"}}, "spec": spec()}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    response = api.answer("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert response.status == 201
    [warning] = [one for one in response.warnings if one.startswith("would violate")]
    why = f'annotation must not set AppArmor profile type to "{key}="unconfined""'
    assert warning == f'would violate PodSecurity "baseline:latest": forbidden AppArmor profile ({why})'


def test_a_future_version_is_the_latest(api):
    class Call:
        server = api.apiserver

    old = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat"}]})["spec"]
    assert len(Standard("baseline", "v1.99").violations(Call, {}, old)) == 1


def test_existing_pods_are_checked_in_the_order_of_their_controllers(api, monkeypatch):
    """One pod of each controller, and pods without one, are checked before the others (`prioritizePods`)."""
    monkeypatch.setattr(podsecurity, "PODS_CHECKED", 4)

    def owned(name, controller, owner="", **broken):
        refs = [
            {"apiVersion": "v1", "kind": "X", "name": one, "uid": one, "controller": one == controller}
            for one in (owner, controller)
            if one
        ]
        made = pod(name, **broken)
        made["metadata"]["ownerReferences"] = refs
        api.ok("POST", PODS, made)

    owned("a1", "x", hostPID=True)
    owned("a2", "x", hostPID=True)
    owned("a3", "x", hostPID=True)
    owned("b1", "y", owner="x", hostPID=True)
    owned("c1", "", owner="x", hostPID=True)
    owned("c2", "", hostPID=True)
    owned("d1", "y", hostPID=True)

    def warnings():
        change = {"metadata": {"labels": labels(enforce="baseline")}}
        how = {"content_type": "application/merge-patch+json"}
        return api.answer("PATCH", f"{NAMESPACES}/default?dryRun=All", change, **how).warnings

    assert warnings() == [
        "new PodSecurity enforce level only checked against the first 4 of 7 existing pods",
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a1 (and 3 other pods): host namespaces",
    ]
    for checked, shown in ((1, "a1: host"), (2, "a1 (and 1 other pod): host"), (5, "a1 (and 4 other pods): host")):
        monkeypatch.setattr(podsecurity, "PODS_CHECKED", checked)
        assert warnings()[-1] == f"{shown} namespaces"
    names = [one["metadata"]["name"] for one in podsecurity._one_of_each(api.ok("GET", PODS)["items"])]
    assert names == ["a1", "b1", "c1", "c2", "a2", "a3", "d1"]
    monkeypatch.setattr(podsecurity, "PODS_CHECKED", 7)
    assert warnings() == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a1 (and 6 other pods): host namespaces",
    ]
    monkeypatch.setattr(podsecurity, "PODS_CHECKED", 6)
    assert warnings()[0] == "new PodSecurity enforce level only checked against the first 6 of 7 existing pods"
