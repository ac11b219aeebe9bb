"""`fakekube lint`: planted defects of each kind with their file and line, and nothing false beside them."""

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from fakekube.cli import main
from fakekube.lint.defect import Defect, merged, of_status
from fakekube.lint.formats import FORMATS

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, securityContext: {privileged: true}}]
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""

WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: team}\nspec: {size: SIZE}\n"
NAMESPACE = (
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {pod-security.kubernetes.io/enforce: LEVEL}}\n"
)
QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: team}\nspec: {hard: {requests.cpu: 1}}\n"
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "object.spec.replicas <= 3", message: at most three replicas}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
"""
HOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: hook.example.com
  clientConfig: {service: {namespace: a, name: b}}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]
  admissionReviewVersions: [v1]
  sideEffects: None
"""
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writer}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ci}]
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
POD_IN_A_JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: team}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"


@pytest.fixture
def lint(tmp_path, monkeypatch):
    """Runs lint on texts, `a.yaml` and so on; returns the status and the defects as text."""
    monkeypatch.chdir(tmp_path)

    def run(*texts, options=(), **files):
        names = []
        for name, text in {**{f"{'abc'[i]}": text for i, text in enumerate(texts)}, **files}.items():
            (tmp_path / f"{name}.yaml").write_text(text.removeprefix("\n"))
            names.append(f"{name}.yaml")
        found = CliRunner().invoke(main, ["lint", *names[: len(texts)], *options])
        assert found.exception is None or isinstance(found.exception, SystemExit), found.output
        return found.exit_code, found.output.splitlines()[:-1]

    return run


@pytest.mark.parametrize(
    ("texts", "defects"),
    [
        pytest.param([DEPLOYMENT, NAMESPACE.replace("LEVEL", "privileged")], [], id="nothing"),
        pytest.param([DEPLOYMENT], [], id="a-namespace-that-the-cluster-has"),
        pytest.param(
            [f"{CONFIG_MAP}---\n{CONFIG_MAP}data: {{a: 1}}\n"],
            ["a.yaml:5: ConfigMap/a: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"],
            id="a-wrong-type",
        ),
        pytest.param([CONFIG_MAP.replace("name: a", "name: A") + "dta: {}\n"], ["a.yaml:1: ConfigMap/A: dta: unknown field"], id="an-unknown-field"),
        pytest.param(
            [DEPLOYMENT.replace("spec:\n  sel", "spec:\n  replicas: -1\n  sel")],
            ["a.yaml:1: Deployment/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
            id="an-invalid-value",
        ),
        pytest.param(
            [CONFIG_MAP.replace("v1", "v2")],
            ["a.yaml:1: ConfigMap/a: no kind 'ConfigMap' in 'v2': did you mean 'ConfigMap' in 'v1'?"],
            id="an-unknown-kind",
        ),
        pytest.param(
            [WIDGET.replace("SIZE", "big"), DEFINITION],
            ['a.yaml:1: Widget/w: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'],
            id="a-custom-resource-before-its-definition",
        ),
        pytest.param(
            [DEPLOYMENT, NAMESPACE.replace("LEVEL", "baseline")],
            ['a.yaml:1: Deployment/web: pod: forbidden: violates PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)'],
            id="a-pod-that-pod-security-refuses",
        ),
        pytest.param(
            [POD_IN_A_JOB, QUOTA],
            ["a.yaml:1: Job/j: pod: forbidden: failed quota: q: must specify requests.cpu for: c"],
            id="a-pod-that-the-quota-refuses",
        ),
        pytest.param([CONFIG_MAP, CONFIG_MAP], ["b.yaml:1: ConfigMap/a: warning: it is defined already: a.yaml:1"], id="a-duplicate"),
        pytest.param(
            [HOOK, CONFIG_MAP],
            ["a.yaml:1: ValidatingWebhookConfiguration/hook: skipped: it is not called: nothing runs that it names"],
            id="a-webhook",
        ),
        pytest.param(
            ["apiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\nmetadata: {name: k}\n"],
            ["a.yaml:1: Kustomization/k: skipped: kustomize.config.k8s.io/v1 is configuration of a tool"],
            id="configuration-of-a-tool",
        ),
        pytest.param(
            [CONFIG_MAP.replace("ConfigMap", "Endpoints")],
            ["a.yaml:1: Endpoints/a: warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
            id="a-warning",
        ),
    ],
)  # fmt: skip
def test_defects_and_where_they_are(lint, texts, defects):
    code, found = lint(*texts)
    assert found == defects
    assert code == int(any(": warning: " not in one and ": skipped: " not in one for one in defects))


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team}\nspec: {SPECcontainers: [{name: c, image: i}]}\n"
LIMITS = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: team}\nspec: {limits: [{type: Pod, max: {cpu: 1}}]}\n"
PRIORITY = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n"
NO_CONFIG_MAPS = QUOTA.replace("requests.cpu: 1", 'count/configmaps: "0"')


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        pytest.param(
            DEPLOYMENT.replace("spec:\n  sel", "spec:\n  replicas: 5\n  sel"),
            POLICY,
            "denied request: at most three replicas",
            id="a-policy",
        ),
        pytest.param(POD.replace("SPEC", ""), LIMITS, "No limit is specified", id="a-limit-range"),
        pytest.param(POD.replace("SPEC", ""), QUOTA, "must specify requests.cpu", id="a-quota"),
        pytest.param(
            CONFIG_MAP.replace("name: a", "name: a, namespace: team"), NO_CONFIG_MAPS, "exceeded quota: q", id="a-count"
        ),
        pytest.param(POD.replace("SPEC", "priorityClassName: high, "), PRIORITY, "", id="a-priority-class"),
        pytest.param(POD.replace("SPEC", "serviceAccountName: s, "), "", "", id="nothing"),
        pytest.param(WIDGET.replace("SIZE", "3"), DEFINITION, "", id="a-definition"),
    ],
)
def test_what_judges_an_object_is_made_before_it(lint, first, second, said):
    for texts in ((first, second), (second, first)):
        code, found = lint(*filter(None, texts))
        assert [code, len(found)] == ([1, 1] if said else [0, 0]), found
        assert not said or said in found[0]


def test_policies_that_the_cluster_has(lint):
    code, found = lint(
        DEPLOYMENT.replace("spec:\n  sel", "spec:\n  replicas: 5\n  sel"), p=POLICY, options=["--policies", "p.yaml"]
    )
    assert (code, len(found)) == (1, 1)
    assert found[0].endswith(
        "ValidatingAdmissionPolicy 'few' with binding 'few' denied request: at most three replicas"
    )


def test_definitions_that_the_cluster_has(lint):
    assert lint(WIDGET.replace("SIZE", "3"), d=DEFINITION, options=["--crds", "d.yaml"]) == (0, [])


def test_pods_are_not_judged_if_that_is_not_wanted(lint):
    code, found = lint(DEPLOYMENT, NAMESPACE.replace("LEVEL", "baseline"), options=["--no-pods"])
    assert (code, ["warning: would violate PodSecurity" in one for one in found]) == (0, [True])


def test_what_a_user_may_apply(lint):
    secret = CONFIG_MAP.replace("ConfigMap", "Secret")
    code, found = lint(f"{CONFIG_MAP}---\n{secret}", r=ROLE, options=["--policies", "r.yaml", "--as", "ci"])
    assert code == 1
    assert found == [
        'a.yaml:5: Secret/a: secrets is forbidden: User "ci" cannot create resource "secrets" in API group "" in the namespace "default"'
    ]


def test_versions_are_named_where_they_differ(lint):
    ranges = "apiVersion: networking.k8s.io/v1\nkind: IPAddress\nmetadata: {name: 10.0.0.7}\nspec: {parentRef: {resource: services, name: a, namespace: b}}\n"
    code, found = lint(
        ranges + "---\n" + CONFIG_MAP.replace("name: a", "name: A"), options=["--kubernetes-version", "1.31,1.36"]
    )
    assert code == 1
    assert found[0].startswith("a.yaml:1: IPAddress/10.0.0.7: no kind 'IPAddress' in 'networking.k8s.io/v1'")
    assert found[0].endswith(" [1.31]")
    assert (
        len(found),
        found[1].startswith("a.yaml:6: ConfigMap/A: metadata.name: Invalid value"),
        "[" in found[1][-8:],
    ) == (2, True, False)


def test_files_that_cannot_be_read(lint, tmp_path):
    code, found = lint("a: [1", CONFIG_MAP, "foo: 1\n", options=["nowhere"])
    assert code == 2
    assert [one.partition(": ")[0] for one in found] == ["a.yaml", "c.yaml:1", "nowhere"]


def test_standard_input():
    found = CliRunner().invoke(main, ["lint", "-"], input=CONFIG_MAP.replace("name: a", "name: A"))
    assert (found.exit_code, found.output.startswith("-:1: ConfigMap/A: metadata.name: ")) == (1, True)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n---\n"])
def test_standard_input_without_objects(text):
    found = CliRunner().invoke(main, ["lint", "-"], input=text)
    assert (found.exit_code, found.output.splitlines()[0]) == (2, "-: no manifests on standard input")


def test_an_unknown_version():
    found = CliRunner().invoke(main, ["lint", "--kubernetes-version", "1.36,1.2", "-"])
    assert (found.exit_code, "1.2" in found.output) == (2, True)


# --- formats

DEFECTS = [
    Defect("a,b.yaml", 3, "Deployment/web", "spec.x", "50% of it:\nno"),
    Defect("a,b.yaml", 9, "Service/s", "", "deprecated", "warning", ("1.31",)),
    Defect("c.yaml", 0, "", "", "not YAML"),
]


def shown(format):
    return FORMATS[format](DEFECTS, 7)


def test_text():
    assert shown("text").splitlines() == [
        "a,b.yaml:3: Deployment/web: spec.x: 50% of it:", "no", "a,b.yaml:9: Service/s: warning: deprecated [1.31]",
        "c.yaml: not YAML", "7 objects, 2 errors",
    ]  # fmt: skip


def test_json():
    found = json.loads(shown("json"))
    assert (found["objects"], found["errors"], [one["line"] for one in found["defects"]]) == (7, 2, [3, 9, 0])


def test_junit():
    suite = ElementTree.fromstring(shown("junit").encode()).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.get("name") for case in suite] == ["Deployment/web:3", "c.yaml:0", "7 objects"]


def test_junit_of_characters_that_xml_lacks():
    defect = Defect("a\x1b.yaml", 1, "ConfigMap/\x00", "data", "\ud800 is \x08not \ufffe allowed\t\U0001f600")
    [case, _] = ElementTree.fromstring(FORMATS["junit"]([defect], 1).encode()).find("testsuite")
    assert (case.get("classname"), case.get("name")) == ("a?.yaml", "ConfigMap/?:1")
    assert case.find("failure").text.endswith(": data: ? is ?not ? allowed\t\U0001f600")


def test_github():
    assert shown("github").splitlines() == [
        "::error file=a%2Cb.yaml,line=3,title=Deployment/web::spec.x: 50%25 of it:%0Ano",
        "::warning file=a%2Cb.yaml,line=9,title=Service/s::deprecated",
        "::error file=c.yaml,line=1,title=c.yaml::not YAML",
    ]


def test_sarif():
    [run] = json.loads(shown("sarif"))["runs"]
    assert [(one["level"], one["locations"][0]["physicalLocation"]["region"]["startLine"]) for one in run["results"]] == [
        ("error", 3), ("warning", 9), ("error", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"message": "no"}, [("", "no")]),
        ({"message": "x", "reason": "Invalid", "details": {"causes": [{"field": "a", "message": "b"}, {"field": "c", "message": "d"}]}}, [("a", "b"), ("c", "d")]),
        ({"message": "x", "reason": "Conflict", "details": {"causes": [{"field": "a", "message": "b"}]}}, [("", "x")]),
        ({"message": 'strict decoding error: unknown field "spec.a", duplicate field "b"'}, [("spec.a", "unknown field"), ("b", "duplicate field")]),
    ],
)  # fmt: skip
def test_the_defects_of_a_refusal(status, found):
    assert [(one.field, one.message) for one in of_status(Defect("f", 1, "o", "", ""), status)] == found


def test_defects_of_all_versions_have_no_version():
    one, two = Defect("b", 1, "o", "", "x"), Defect("a", 2, "o", "", "y")
    assert [(each.message, each.versions) for each in merged({"1.31": [one, two, two], "1.36": [one]})] == [
        ("y", ("1.31",)), ("x", ()),
    ]  # fmt: skip
