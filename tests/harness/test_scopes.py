"""Clusters of a module and of a session, and namespaces of tests."""

import re

import pytest

from fakekube.harness.sharing import namespace_for
from tests.innerruns import LEAN

CONFIG = """
import asyncio
import pytest

def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}

def names(cluster):
    return [one["metadata"]["name"] for one in cluster.list("v1", "ConfigMap", None)]

def build(manager):
    async def reconcile(request):
        return None
    manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)
"""


@pytest.fixture
def run(pytester):
    """Runs modules, by their names."""
    for name in ("session", "module"):
        pytester.makepyfile(**{f"helping_{name}": CONFIG})

    def run(*options, **sources):
        pytester.makepyfile(
            **{name: f"from helping_module import *\n{_dedented(text)}" for name, text in sources.items()}
        )
        return pytester.runpytest_inprocess(*LEAN, *options)

    return run


def _dedented(text):
    indent = re.match(r"\n*( *)", text)[1]
    return re.sub(rf"(?m)^{indent}", "", text)


MODULE = """
    @pytest.fixture(scope="module")
    def prepared(fakekube_module):
        fakekube_module.create(config("base"))
        fakekube_module.advance(hours=1)
        return fakekube_module

    @pytest.fixture
    def operator(prepared):
        return prepared.start(build)

    def test_one(prepared, operator, fakekube_namespace):
        assert fakekube_namespace.startswith("test-one-")
        prepared.create({**config("mine"), "metadata": {"name": "mine", "namespace": fakekube_namespace}})
        prepared.create(config("elsewhere"))
        prepared.fault(verb="get", resource="*", error=500, user_agent="test")
        prepared.findings.allow("unused-fault", reason="the next test must not have it")
        prepared.advance(60)
        assert operator["minder"].reconciles("default/base") == 1

    def test_two(prepared, fakekube_namespace):
        assert names(prepared) == ["base"]
        assert prepared.clock.monotonic() == 3600
        assert prepared.exists("v1", "Namespace", fakekube_namespace)
        assert [one for one in prepared.list("v1", "Namespace") if one["metadata"]["name"].startswith("test-one")] == []
        assert len(prepared.timeline) <= 2

    def test_between(fakekube):
        assert names(fakekube) == []

    async def test_three(prepared):
        await asyncio.sleep(5)
        assert (prepared.clock.monotonic(), names(prepared)) == (3605, ["base"])

    @pytest.fixture(scope="module")
    def late(prepared):
        prepared.create(config("late"))
        yield
        prepared.delete("v1", "ConfigMap", "late")

    def test_four(prepared, late):
        assert names(prepared) == ["base", "late"]

    @pytest.mark.parametrize("number", [1, 2])
    def test_five(fakekube_module, number):
        assert fakekube_module.create(config("again"))["metadata"]["resourceVersion"] == "55"
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-p", "no:randomly", "-k", "two or three or one"]])
def test_tests_of_a_module_begin_with_what_its_fixtures_have_made(run, options):
    result = run(*options, test_module=MODULE)
    result.assert_outcomes(passed=3 if options else 7, deselected=4 if options else 0)


@pytest.mark.slow
def test_a_module_that_prepares_nothing(run):
    run(
        test_module="""
        def test_one(fakekube_module):
            fakekube_module.create(config("a"))

        def test_two(fakekube_module):
            assert names(fakekube_module) == []
        """
    ).assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_session_is_shared_by_modules(run):
    source = """
        def test_it(fakekube_session, prepared, fakekube_namespace):
            assert names(fakekube_session) == ["base-1"]
            fakekube_session.create(config("more"))
        """
    conftest = """
        made = []

        @pytest.fixture(scope="session")
        def prepared(fakekube_session):
            made.append(1)
            fakekube_session.create(config(f"base-{len(made)}"))
        """
    run(conftest=conftest, test_a=source, test_b=source).assert_outcomes(passed=2)


@pytest.mark.slow
def test_values_do_not_depend_on_which_tests_run_and_where(run):
    """Uids and generated names are printed; they are the same alone, with others, and in processes of their own."""
    source = """
        @pytest.fixture(scope="module")
        def prepared(fakekube_module):
            fakekube_module.create(config("base"))

        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_it(fakekube_module, prepared, fakekube_namespace, n, record_property):
            made = fakekube_module.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}})
            base = fakekube_module.get("v1", "ConfigMap", "base")
            with open("seen", "a") as file:
                for meta in (made["metadata"], base["metadata"]):
                    print(n, fakekube_namespace, meta["uid"], meta["name"], meta["resourceVersion"], file=file)
        """

    def seen(*options):
        open("seen", "w").close()
        assert run(*options, test_module=source).ret == 0
        with open("seen") as file:
            return sorted(file.read().splitlines())

    alone, everything = seen("-k", "3"), seen()
    assert len(everything) == 6
    assert set(alone) <= set(everything)
    assert seen("-n2", "-pxdist") == everything


@pytest.mark.slow
def test_a_test_has_one_cluster(run):
    result = run(
        test_module="""
        def test_it(fakekube_module, fakekube):
            pass
        """
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_it uses fakekube_module and fakekube: a test has one cluster*"])


@pytest.mark.slow
def test_an_operator_of_a_wider_fixture_is_refused(run):
    result = run(
        test_module="""
        @pytest.fixture(scope="module")
        def operator(fakekube_module):
            return fakekube_module.start(build)

        def test_it(fakekube_module, operator):
            pass

        def test_after(fakekube):
            pass
        """
    )
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*start it in the test, or in a fixture of function scope*"])


@pytest.mark.slow
def test_a_failed_fixture_leaves_no_cluster_open(run):
    result = run(
        test_module="""
        @pytest.fixture(scope="module")
        def prepared(fakekube_module):
            fakekube_module.create(config("a"))
            assert False

        def test_it(prepared):
            pass

        def test_after(fakekube):
            pass

        def test_again(fakekube_module):
            assert names(fakekube_module) == ["a"]
        """
    )
    result.assert_outcomes(errors=1, passed=2)


@pytest.mark.slow
def test_the_settings_of_a_test_must_be_those_of_its_module(run):
    result = run(
        test_module="""
        pytestmark = pytest.mark.fakekube(rbac=True)

        def test_it(fakekube_module):
            assert fakekube_module.list("rbac.authorization.k8s.io/v1", "ClusterRole", None)

        @pytest.mark.fakekube(rbac=False)
        def test_other(fakekube_module):
            pass
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*test_other: restore(): the snapshot is of a cluster with authorization_mode=RBAC*"])


@pytest.mark.slow
def test_controllers_of_a_module_run_in_each_test(run):
    run(
        test_module="""
        pytestmark = pytest.mark.fakekube(controllers=["deployment", "replicaset"])
        POD = {"containers": [{"name": "a", "image": "a:1"}]}
        SPEC = {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
        }

        @pytest.fixture(scope="module")
        def web(fakekube_module):
            web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": SPEC}
            fakekube_module.create(web)
            fakekube_module.advance(60)

        @pytest.mark.parametrize("replicas", [3, 1])
        def test_it(fakekube_module, web, replicas):
            assert len(fakekube_module.list("v1", "Pod")) == 2
            fakekube_module.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": replicas}})
            fakekube_module.advance(60)
            assert len(fakekube_module.list("v1", "Pod")) == replicas
        """
    ).assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_failing_test_shows_the_timeline_of_its_own_cluster(run):
    result = run(
        test_module="""
        @pytest.fixture(scope="module")
        def prepared(fakekube_module):
            fakekube_module.create(config("base"))

        def test_it(fakekube_module, prepared):
            fakekube_module.create(config("mine"))
            assert False
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*fakekube timeline*", "*restores the snapshot*", "*create configmaps *"])


@pytest.mark.parametrize("test", ["a/b.py::test_x[1-é]", "a/b.py::Class::test_" + "x" * 100, "::"])
def test_names_of_namespaces_are_valid_and_unique(test):
    name = namespace_for(test)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name)
    assert name == namespace_for(test)
    assert name != namespace_for(f"{test}2")


def test_a_namespace_of_a_plain_cluster(fakekube, fakekube_namespace, request):
    assert fakekube_namespace == namespace_for(request.node.nodeid)
    assert fakekube.get("v1", "Namespace", fakekube_namespace)["status"] == {"phase": "Active"}
