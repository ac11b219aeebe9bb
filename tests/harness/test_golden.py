"""Golden files: what is compared, what is masked, and how they are written."""

import pytest
import yaml

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.harness.operators import config_map, definition
from tests.innerruns import LEAN


def owned(name, owner, **meta):
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**({"name": name} if name else {}), "ownerReferences": [reference], **meta},
    }


@pytest.fixture
def state(tmp_path):
    """The state that is written for a cluster with a seed, after `prepare`."""

    def state(prepare, seed=0, **wanted):
        with FakeKube(seed=seed, wall_clock=False) as kube:
            prepare(kube)
            engine_of(kube).golden.folder, engine_of(kube).golden.update = tmp_path, True
            kube.state.assert_golden("golden.yaml", **wanted)
        return (tmp_path / "golden.yaml").read_text()

    return state


def objects(text):
    return list(yaml.safe_load_all(text))


def two_generations(kube):
    owner = kube.create(config_map("owner", made="2026-05-05T10:00:00Z", uid="1b4e28ba-2fa1-41d2-883f-0016d3cca427"))
    for number in (2, 1):
        child = kube.create(owned("", owner, generateName="child-"))
        kube.patch("v1", "ConfigMap", child["metadata"]["name"], {"data": {"number": str(number)}})
        kube.create(config_map(f"pointer-{number}", to=child["metadata"]["name"]))


def test_what_differs_from_run_to_run_is_masked(state):
    assert state(two_generations, seed=1) == state(two_generations, seed=2)


def test_masks_keep_what_refers_to_what(state):
    found = {obj["metadata"]["name"]: obj for obj in objects(state(two_generations))}
    assert list(found) == ["child-<1>", "child-<2>", "owner", "pointer-1", "pointer-2"]
    assert found["child-<1>"]["metadata"]["ownerReferences"][0]["uid"] == "<uid of ConfigMap owner>"
    assert [found[f"pointer-{n}"]["data"]["to"] for n in (1, 2)] == ["child-<1>", "child-<2>"]
    assert found["owner"]["data"] == {"made": "<time>", "uid": "<uid>"}
    assert set(found["owner"]["metadata"]) == {"name", "namespace"}


@pytest.mark.parametrize(
    ("unmasked", "fields"),
    [
        ("uids", {"uid"}),
        ("times", {"creationTimestamp"}),
        ("resource_versions", {"resourceVersion"}),
        ("managed_fields", {"managedFields"}),
    ],
)
def test_a_mask_can_be_left_out(state, unmasked, fields):
    (found,) = objects(state(lambda kube: kube.create(config_map("a", x="1")), unmasked=[unmasked]))
    assert set(found["metadata"]) == {"name", "namespace"} | fields


def test_generated_names_can_be_compared(state):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}
    (found,) = objects(state(lambda kube: kube.create(made), unmasked=["generated_names"]))
    assert found["metadata"]["name"].startswith("g-")
    assert "<" not in found["metadata"]["name"]


def test_paths_can_be_ignored(state):
    def prepare(kube):
        kube.apply(definition())
        kube.create(
            {
                "apiVersion": "example.com/v1",
                "kind": "Backup",
                "metadata": {"name": "b", "annotations": {"example.com/at": "x", "kept": "y"}},
                "spec": {"size": 1, "steps": [{"at": "a", "name": "b"}]},
            }
        )

    ignore = ["metadata.annotations[example.com/at]", "spec.steps[0].at", "spec.size"]
    found = objects(state(prepare, kinds=["Backup"], ignore=ignore))
    assert found[0]["metadata"]["annotations"] == {"kept": "y"}
    assert found[0]["spec"] == {"steps": [{"name": "b"}]}


def test_a_difference_is_shown(tmp_path):
    with FakeKube(wall_clock=False) as kube:
        engine_of(kube).golden.folder, engine_of(kube).golden.update = tmp_path, True
        kube.create(config_map("a", x="1"))
        kube.state.assert_golden("golden.yaml")
        engine_of(kube).golden.update = False
        kube.state.assert_golden("golden.yaml")
        kube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
        with pytest.raises(AssertionError) as failure:
            kube.state.assert_golden("golden.yaml")
    lines = str(failure.value).splitlines()
    assert lines[0] == (
        f"the state differs from {tmp_path / 'golden.yaml'}; if it is right, run `pytest --fakekube-update-golden` to "
        "write it again:"
    )
    assert lines[1:3] == ["--- golden.yaml (expected)", "+++ the cluster"]
    assert {'-  x: "1"', '+  x: "2"'} <= set(lines)


def test_comments_at_the_top_are_not_compared(tmp_path):
    with FakeKube(wall_clock=False) as kube:
        engine_of(kube).golden.folder, engine_of(kube).golden.update = tmp_path, True
        kube.create(config_map("a"))
        kube.state.assert_golden("golden.yaml")
        path = tmp_path / "golden.yaml"
        path.write_text(f"# our own comment\n\n{path.read_text()}")
        engine_of(kube).golden.update = False
        kube.state.assert_golden("golden.yaml")


def test_a_missing_file_says_how_to_write_it(tmp_path):
    with FakeKube(wall_clock=False) as kube:
        kube.create(config_map("a"))
        with pytest.raises(
            AssertionError, match="does not exist: run `pytest --fakekube-update-golden` to write it"
        ) as failure:
            kube.state.assert_golden(tmp_path / "missing.yaml")
    assert "  name: a" in str(failure.value)
    assert not (tmp_path / "missing.yaml").exists()


@pytest.mark.parametrize(
    ("path", "wanted", "error", "text"),
    [
        (3, {}, TypeError, r"state\.assert_golden\(path=3\)"),
        ("a.yaml", {"ignore": "spec"}, TypeError, r"state\.assert_golden\(ignore='spec'\): pass a list of texts"),
        ("a.yaml", {"unmasked": [3]}, TypeError, r"state\.assert_golden\(unmasked=\[3\]\): pass a list of texts"),
        ("a.yaml", {"unmasked": ["uid"]}, ValueError, r"no mask 'uid' \(uids, times,"),
        ("a.yaml", {"kinds": "Pod"}, TypeError, r"state\.assert_golden\(kinds='Pod'\)"),
        ("a.yaml", {"namespace": 3}, TypeError, r"state\.assert_golden\(namespace=3\)"),
    ],
)
def test_wrong_arguments_are_named(path, wanted, error, text):
    with FakeKube(wall_clock=False) as kube, pytest.raises(error, match=text):
        kube.state.assert_golden(path, **wanted)


@pytest.mark.slow
def test_the_option_writes_files_beside_the_test(pytester):
    pytester.makepyfile(
        **{
            "sub/test_it": """
            def test_it(fakekube):
                fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
                fakekube.state.assert_golden("golden/a.yaml")
            """
        }
    )
    golden = pytester.path / "sub" / "golden" / "a.yaml"
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(failed=1)
    assert not golden.exists()
    pytester.runpytest_inprocess(*LEAN, "--fakekube-update-golden").assert_outcomes(passed=1)
    before = golden.stat().st_mtime_ns
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=1)
    pytester.runpytest_inprocess(*LEAN, "--fakekube-update-golden", "--fakekube-seed=5").assert_outcomes(passed=1)
    assert golden.stat().st_mtime_ns == before  # nothing has changed
    golden.write_text(golden.read_text().replace("name: a", "name: b"))
    result = pytester.runpytest_inprocess(*LEAN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the state differs from *golden/a.yaml*"])
