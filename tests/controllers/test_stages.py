"""Stages: the behavior of pods as data, in Python and in YAML."""

import pytest

from controllerlib.client import parse_selector
from fakekube import CreateError, Exit, PodSelector, PullError, Readiness, Run, Stage, Start
from fakekube.controllers.kubelet.stagedocument import stages_of
from tests.controllers.test_kubelet import history, pod, states, status

KWOK = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-container-running-failed
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchLabels:
      app: web
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: DoesNotExist
    - key: .status.phase
      operator: In
      values: [Running]
    - key: .metadata.labels["app"]
      operator: Exists
  delay:
    durationMilliseconds: 4000
  next:
    statusTemplate: |
      {{ $now := Now }}
      {{ $root := . }}
      containerStatuses:
      {{ range $index, $item := .spec.containers }}
      - image: {{ $item.image }}
        name: {{ $item.name }}
        ready: false
        state:
          terminated:
            exitCode: 3
            reason: Broken
            startedAt: {{ $now }}
      {{ end }}
      phase: Failed
"""

OURS = """
kind: Stage
metadata: {name: slow}
spec:
  at: creating
  container: "c*"
  selector: {matchLabels: {app: web}}
  delay: {durationMilliseconds: 7000}
  next: {start: {}}
---
kind: Stage
metadata: {name: short}
spec:
  selector: {matchExpressions: [{key: ".metadata.ownerReferences[].kind", operator: NotIn, values: [Job]}]}
  delay: {durationMilliseconds: 2000, jitterDurationMilliseconds: 5000}
  next: {exit: {code: 9}}
"""


@pytest.mark.fakekube(nodes=1)
def test_a_stage_in_python_decides_before_the_default_ones(fakekube):
    fakekube.pods.add_stages(Stage("late", "creating", Start(), PodSelector(parse_selector("app=web")), delay=5))
    fakekube.create(pod())
    fakekube.create(pod("other", {"app": "other"}))
    fakekube.advance(10)
    assert states(fakekube)[-1] == (5, "running")
    assert states(fakekube, "other")[-1] == (1, "running")


@pytest.mark.fakekube(nodes=1)
def test_the_stage_that_was_added_last_decides(fakekube):
    fakekube.pods.add_stages(Stage("a", "running", Exit(1), delay=3))
    fakekube.pods.add_stages(Stage("b", "running", Run()))
    fakekube.create(pod(restartPolicy="Never"))
    fakekube.advance(10)
    assert status(fakekube)["phase"] == "Running"


@pytest.mark.fakekube(nodes=1)
def test_stages_in_yaml(fakekube, tmp_path):
    path = tmp_path / "stages.yaml"
    path.write_text(OURS)
    slow, short = stages_of(path)
    assert (slow.action, slow.delay, slow.at, slow.container) == (Start(), 7, "creating", "c*")
    assert (short.action, short.delay, short.jitter, short.at) == (Exit(9), 2, 3, "running")
    fakekube.pods.add_stages(path)
    fakekube.create(pod(restartPolicy="Never"))
    fakekube.advance(20)
    (_, pending), (start, running), (end, failed) = history(fakekube)
    assert (pending, start, running, failed) == ("Pending", 7, "Running", "Failed")
    assert 2 <= end - start < 5
    assert status(fakekube)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 9


@pytest.mark.fakekube(nodes=1)
def test_the_first_of_the_stages_of_one_document_decides(fakekube):
    stage = "kind: Stage\nmetadata: {name: %s}\nspec: {at: running, next: {exit: {code: %d}}}\n"
    fakekube.pods.add_stages("---\n".join(stage % one for one in (("a", 3), ("b", 4))))
    fakekube.create(pod(restartPolicy="Never"))
    fakekube.advance(10)
    assert status(fakekube)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


@pytest.mark.fakekube(nodes=1)
def test_a_stage_of_kwok(fakekube):
    fakekube.pods.add_stages(KWOK)
    fakekube.create(pod(restartPolicy="Never"))
    fakekube.create(pod("other", {"app": "other"}))
    fakekube.advance(20)
    assert history(fakekube) == [(0, "Pending"), (1, "Running"), (5, "Failed")]
    ended = status(fakekube)["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Broken")
    assert status(fakekube, "other")["phase"] == "Running"


WAITING = "initContainerStatuses: [{state: {waiting: {reason"


@pytest.mark.parametrize(
    ("template", "at", "action"),
    [
        ("phase: Succeeded", "running", Exit(0)),
        ("phase: Failed\nreason: Evicted", "running", Exit(1, "Evicted")),
        ("phase: Running\nconditions: [{type: Ready, status: 'True'}]", "creating", Start()),
        ("conditions: [{type: Ready, status: 'False'}]", "probing", Readiness(False)),
        ("containerStatuses: [{state: {waiting: {reason: ErrImagePull}}}]", "creating", PullError()),
        (f"{WAITING}: ImagePullBackOff, message: m}}}}}}]", "creating", PullError("m")),
        (f"{WAITING}: CreateContainerError, message: m}}}}}}]", "creating", CreateError("CreateContainerError", "m")),
        (f"{WAITING}: ContainerCreating}}}}}}]\nphase: Failed", "running", Exit(1)),
        (f"{WAITING}: PodInitializing}}}}}}]", "creating", Start()),
        ("containerStatuses: [{}, {state: {terminated: {exitCode: 3, reason: R}}}]", "running", Exit(3, "R")),
        ("containerStatuses: [{state: {terminated: {message: m}}}]", "running", Exit(0, "", "m")),
        ("phase: Pending\nconditions: [{type: Ready, status: 'False'}]", "creating", Start()),
        ("conditions: [{type: Other, status: 'False'}]", "creating", Start()),
    ],
)
def test_what_a_status_template_means(template, at, action):
    lines = "".join(f"      {line}\n" for line in template.splitlines())
    (stage,) = stages_of(f"kind: Stage\nmetadata: {{name: x}}\nspec:\n  next:\n    statusTemplate: |\n{lines}")
    assert (stage.at, stage.action) == (at, action)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\n", "expected documents of kind Stage"),
        ("kind: Stage\nmetadata: {name: x}\nspec: {}\n", "Stage 'x': next has nothing"),
        ("kind: Stage\nspec: {next: {explode: {}}}\n", "next has the action 'explode'"),
        ("kind: Stage\nspec: {next: {exit: {kode: 1}}}\n", "unexpected keyword argument 'kode'"),
        (
            "kind: Stage\nspec: {next: {run: {}}, selector: {matchExpressions: [{key: .a, operator: Near}]}}\n",
            "operator 'Near'",
        ),
    ],
)
def test_stages_that_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        stages_of(text)
