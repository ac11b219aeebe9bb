"""Tests of pytest that are explored: reports, replay, options, arguments, fixtures, shards, executors."""

import multiprocessing
import multiprocessing.resource_tracker
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from fakekube import FakeKube
from fakekube.simulation.explorer import Settings
from fakekube.simulation.scenario import explore
from tests.simulation.samples import SAMPLES

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent

PLUGINS = [f"-pno:{name}" for name in ("cacheprovider", "randomly", "asyncio", "rerunfailures")]

#: An operator that sets a marker before it has done its work: a crash in between loses the Secret for good.
OPERATOR = """
import pytest
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

def builder(bug):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            vault = await find(live, API, "Vault", request.name, request.namespace)
            if vault is None or (bug and (vault.get("status") or {}).get("done")):
                return
            if bug:
                await report(live, vault, done=True)
            await ensure(live, child(vault, "Secret", request.name, data={"key": "c2VjcmV0"}))
            if not bug:
                await report(live, vault, done=True)

        manager.controller("vault").for_(API, "Vault").complete(reconcile)
    return build

def scenario(fakekube, bug=True):
    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(builder(bug))
    fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
    assert fakekube.exists(API, "Vault", "a")
"""

MARKED = """
@pytest.mark.fakekube_explore(runs=40, bugs=1)
def test_vault(fakekube):
    scenario(fakekube)
"""

CRASH = "FK1 seed=0 crash@update vault/a{status.done,status.observedGeneration}#1"


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """What is imported lazily is imported once: pytester forgets what an inner run imports."""
    import fakekube.simulation.protocol  # noqa: F401

    multiprocessing.resource_tracker.ensure_running()
    with FakeKube() as kube:
        kube.settle()


@pytest.fixture(autouse=True)
def _not_a_worker(monkeypatch):
    """The plans of an inner run are not divided, also in a worker of pytest-xdist."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)


@pytest.fixture
def run(pytester):
    """Runs a file of tests in this process."""

    def runs(source, *options):
        pytester.makepyfile(OPERATOR + source)
        return pytester.runpytest_inprocess(*PLUGINS, *options)

    return runs


def text_of(result):
    return "\n".join(result.outlines)


@pytest.mark.slow
def test_a_failure_names_the_oracle_and_replays(run):
    result = run(MARKED)
    result.assert_outcomes(failed=1)
    text = text_of(result)
    assert re.search(r"^O2: secret/a is absent at the end .* {6}run \d+ of 40, shrunk \d+ atoms -> 1$", text, re.M)
    assert f"test_vault --fakekube-plan='{CRASH}'" in text
    assert re.search(r"^reference +\| run$", text, re.M)
    assert re.search(r"store|vault: create secret/a#1", text)
    assert "passes: without faults" in text
    replayed = run(MARKED, "--fakekube-plan", CRASH)
    replayed.assert_outcomes(failed=1)
    assert "O2: secret/a is absent at the end" in text_of(replayed)


@pytest.mark.slow
def test_a_correct_operator_passes_and_what_was_tried_is_counted(run):
    result = run(MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)"), "-rP")
    result.assert_outcomes(passed=1)
    text = text_of(result)
    assert re.search(r"explored \d+ plans in 40 runs without a failure; they combine these atoms:", text)
    assert "crash: 2 distinct atoms exercised" in text
    assert "crashed after 2 of 2 writes" in text
    assert re.search(r": 1 distinct atom exercised", text)


@pytest.mark.slow
def test_an_async_test(run):
    source = """
@pytest.mark.fakekube_explore(runs=20)
async def test_vault(fakekube):
    fakekube.apply(definition("Vault", size="integer"))
    await fakekube.start(builder(True))
    fakekube.create(custom("Vault", size=1))
    await fakekube.advance(60)
"""
    result = run(source)
    result.assert_outcomes(failed=1)
    assert f"--fakekube-plan='{CRASH}'" in text_of(result)


# --- replay


@pytest.mark.slow
def test_a_plan_that_no_oracle_objects_to(run):
    result = run(MARKED, "--fakekube-plan", "FK1 seed=0 crash@create secret/a#1", "-rP")
    result.assert_outcomes(passed=1)
    assert "no oracle fails" in text_of(result)
    assert "not exercised" not in text_of(result)


@pytest.mark.slow
def test_a_plan_that_is_not_exercised(run):
    result = run(MARKED, "--fakekube-plan", "FK1 seed=0 crash@create secret/b#1", "-rP")
    result.assert_outcomes(failed=1)
    assert "not exercised: crash@create secret/b#1" in text_of(result)
    assert "no oracle fails, but the plan was not exercised" in text_of(result)


LATE = """
@pytest.mark.fakekube_explore(runs=5)
def test_late(fakekube):
    def build(manager):
        async def reconcile(request, client):
            vault = await client.get(API, "Vault", request.name, request.namespace)
            data = {"size": ["", "MQ==", "Mg=="][vault["spec"]["size"]]}
            await ensure(manager.api_reader, child(vault, "Secret", request.name, data=data))

        manager.controller("vault").for_(API, "Vault").complete(reconcile)

    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
    fakekube.patch(API, "Vault", "a", {"spec": {"size": 2}})
    fakekube.advance(60)
    assert fakekube.get("v1", "Secret", "a")["data"]["size"] == "Mg=="
"""


@pytest.mark.slow
def test_a_test_that_does_not_wait_for_a_late_watch_says_nothing_about_the_operator(run):
    """The watch is late until the operator does what it cannot do before, so for five minutes."""
    plan = "FK1 seed=0 hold(vault, update vault/a{spec.size}#1..update secret/a{data.size}#1)"
    assert "no oracle fails, but the plan was not exercised" in text_of(run(LATE, "--fakekube-plan", plan))


IDLE = "def test_idle(fakekube):\n    fakekube.advance(60)\n"


@pytest.mark.slow
def test_a_marked_test_without_an_operator_fails(run):
    result = run(f"@pytest.mark.fakekube_explore(runs=40, bugs=1)\n{IDLE}")
    result.assert_outcomes(failed=1)
    assert "nothing was explored: no operator has written, read or watched anything" in text_of(result)


@pytest.mark.slow
def test_the_option_does_not_fail_a_test_without_an_operator(run):
    result = run(IDLE, "--fakekube-explore=smoke", "-rP")
    result.assert_outcomes(passed=1)
    assert "nothing was explored" in text_of(result)


@pytest.mark.slow
def test_the_report_names_the_line_of_an_assertion_that_holds_only_without_faults(run):
    result = run(
        "@pytest.mark.fakekube_explore(runs=40, bugs=1)\n"
        "def test_vault(fakekube):\n"
        "    scenario(fakekube, bug=False)\n"
        "    assert len(fakekube.requests(verb='create', resource='secrets')) == 1\n"
    )
    result.assert_outcomes(failed=1)
    assert re.search(r"test: test_\w+\.py:\d+: AssertionError: ", text_of(result))
    assert "belong under `if fakekube.exploration.calm:`" in text_of(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ("FK1 seed=0 error(409, 1)@create secret/a#1", "conflict-needs-a-writer: error(409, 1)@create secret/a#1"),
        ("FK1 seed=0 zombie@create secret/a#1", "one-leader: zombie@create secret/a#1"),
    ],
)
def test_a_plan_that_is_refused(run, plan, problem):
    result = run(MARKED, "--fakekube-plan", plan)
    result.assert_outcomes(failed=1)
    assert f"--fakekube-plan: {problem}" in text_of(result)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--fakekube-plan=FK1 seed=0 crush@create secret/a#1", "expected one of crash, down"),
        ("--fakekube-plan=crash@create secret/a#1", "expected a text that starts with 'FK1'"),
        ("--fakekube-plan=", "expected a text that starts with 'FK1'"),
        ("--fakekube-plan=FK1 seed=3", "has no atom, so that nothing would be tried"),
        ("--fakekube-explore=fast", "'fast' is none of smoke, pr, nightly"),
    ],
)
def test_an_option_that_cannot_be_read(run, option, problem):
    result = run(MARKED, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert problem in "\n".join(result.errlines)


@pytest.mark.slow
def test_an_unrealistic_plan_runs_with_the_flag(run):
    source = MARKED.replace("runs=40, bugs=1", "unrealistic=True")
    result = run(source, "--fakekube-plan", "FK1 seed=0 error(409, 1)@create secret/a#1")
    assert "conflict-needs-a-writer" not in text_of(result)


# --- kept plans, all bugs, the baseline


@pytest.mark.slow
def test_a_plan_that_has_failed_is_tried_first_until_it_has_passed_often_enough(run, pytester):
    run(MARKED).assert_outcomes(failed=1)
    (kept,) = (pytester.path / ".fakekube" / "plans").iterdir()
    assert kept.read_text().startswith(f"{CRASH}  # passed 0: O2: secret/a is absent at the end")
    again = run(MARKED)
    again.assert_outcomes(failed=1)
    assert "run 3 of 40, 1 atom" in text_of(again)  # the first one after the reference
    fixed = MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)").replace("runs=40", "runs=3")
    for left in (True, True, False):
        run(fixed).assert_outcomes(passed=1)
        assert kept.exists() is left


@pytest.mark.slow
def test_plans_of_the_marker_are_always_tried_first(run):
    result = run(MARKED.replace("runs=40", f"runs=3, plans=['{CRASH}']"))
    result.assert_outcomes(failed=1)
    assert "run 3 of 3, 1 atom" in text_of(result)


TWO = """
@pytest.mark.fakekube_explore(runs=40, faults=["crash", "lost"])
def test_vault(fakekube):
    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            vault = await find(live, API, "Vault", request.name, request.namespace)
            done = (vault.get("status") or {}).get("done", "")
            if not done:
                vault = await live.patch_status(vault, {"status": {"done": "first"}})
                await ensure(live, child(vault, "Secret", "first"))
            if done != "both":
                vault = await live.patch_status(vault, {"status": {"done": "both"}})
                await ensure(live, child(vault, "Secret", "second"))

        manager.controller("vault").for_(API, "Vault").complete(reconcile)

    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
"""


@pytest.mark.slow
def test_the_summary_of_a_failure_has_its_first_line_only(run, monkeypatch):
    monkeypatch.setenv("CI", "true")  # where pytest does not shorten it
    lines = run(MARKED).outlines
    summary = [one for one in lines[lines.index(next(one for one in lines if "short test summary" in one)) :] if one]
    assert len(summary) == 3, "the heading, the test, and the totals"
    assert re.match(r"FAILED \S+::test_vault - O2: secret/\S+ is absent", summary[1])


@pytest.mark.slow
def test_all_distinct_bugs_are_reported(run):
    text = text_of(run(TWO))
    found = re.findall(
        r"^(O2: secret/\w+) is absent at the end .* run \d+ of 40, (?:1 atom|shrunk \d+ atoms -> 1)$", text, re.M
    )
    assert sorted(found) == ["O2: secret/first", "O2: secret/second"]
    assert "1 more bug:" in text
    assert len(re.findall(r"^replay: .*crash@update vault/a", text, re.M)) == 2
    assert "shown by 1 more plan" in text


@pytest.mark.slow
def test_a_bug_of_the_baseline_is_no_failure(run):
    result = run(TWO.replace("runs=40", "runs=40, known=['O2: secret/second*', 'O2: secret/first*']"), "-rP")
    result.assert_outcomes(passed=1)
    assert re.search(r"known: O2: secret/first is absent at the end .* \(\d+ plans\)", text_of(result))


@pytest.mark.slow
def test_the_report_has_the_output_of_the_failing_run_only(run):
    source = MARKED + "    print('calm' if fakekube.exploration.calm else 'perturbed')\n"
    text = text_of(run(source))
    assert (text.count("\nperturbed"), text.count("\ncalm")) == (1, 0)
    assert "fakekube timeline" not in text


@pytest.mark.slow
def test_the_output_of_a_replayed_plan_is_that_of_its_run(run):
    """Such a run is compared with one more, on a new cluster with the last spec, where the operator is right."""
    source = """
def build(manager):
    async def reconcile(request, client):
        vault = await find(client, API, "Vault", request.name, request.namespace)
        if vault is not None and vault["metadata"]["generation"] == 1:
            await report(client, vault, first=True)

    manager.controller("vault").for_(API, "Vault").complete(reconcile)

def test_vault(fakekube):
    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Vault", size=1))
    fakekube.settle()
    fakekube.patch(API, "Vault", "a", {"spec": {"size": 2}})
    fakekube.settle()
    print("generation", fakekube.get(API, "Vault", "a")["metadata"]["generation"])
"""
    plan = "FK1 seed=0 hold(vault, create vault/a#1..update vault/a{spec.size}#1)"
    result = run(source, "--fakekube-plan", plan)
    result.assert_outcomes(failed=1)
    assert "O2: vault/a status.first True (reference) != None" in text_of(result)
    assert re.findall(r"^generation \d$", text_of(result), re.M) == ["generation 2"]


UPGRADED = """
def build_old(manager):
    live = manager.api_reader

    async def reconcile(request, client):
        vault = await find(live, API, "Vault", request.name, request.namespace)
        await ensure(live, child(vault, "Secret", request.name, data={"key": "c2VjcmV0"}))

    manager.controller("vault").for_(API, "Vault").complete(reconcile)

build = builder(bug=True)

@pytest.mark.fakekube_explore(runs=12, bugs=1, faults=["upgrade"], upgrade=(f"{__name__}:build_old", build))
def test_vault(fakekube):
    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
"""


@pytest.mark.slow
def test_an_upgrade_of_the_marker(run):
    forgets = UPGRADED.replace('"Secret", request.name', '"Secret", f"{request.name}-old"')
    text = text_of(run(forgets))
    plan = "FK1 seed=0 upgrade@create secret/a-old#1"
    assert "O2: secret/a-old is there at the end (the reference does not have it)" in text
    assert f"--fakekube-plan='{plan}'" in text
    run(forgets, "--fakekube-plan", plan).assert_outcomes(failed=1)


@pytest.mark.slow
def test_an_upgrade_that_leaves_nothing(run):
    result = run(UPGRADED, "-rP")
    result.assert_outcomes(passed=1)
    assert "upgrade: 1 distinct atom exercised" in text_of(result)


def test_an_old_release_that_cannot_be_imported(run):
    result = run(UPGRADED.replace("{__name__}:build_old", "{__name__}:build_older"))
    assert "build_older' cannot be imported" in text_of(result) + "\n".join(result.errlines)


# --- options and arguments


@pytest.mark.slow
def test_the_option_explores_tests_without_a_marker(run):
    source = "def test_vault(fakekube):\n    scenario(fakekube)\n\ndef test_other():\n    pass\n"
    run(source).assert_outcomes(passed=2)
    result = run(source, "--fakekube-explore=smoke")
    result.assert_outcomes(passed=1, failed=1)
    assert re.search(r"run \d+ of 30", text_of(result))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("run=3", "has no argument run"),
        ("faults=['crush']", "'crush' is none of crash, lost"),
        ("200", "takes keyword arguments only"),
    ],
)
def test_wrong_arguments_of_the_marker(run, arguments, problem):
    result = run(MARKED.replace("runs=40, bugs=1", arguments))
    assert result.ret != 0
    assert problem in text_of(result) + "\n".join(result.errlines)


@pytest.mark.slow
def test_only_the_named_faults_are_tried(run):
    result = run(MARKED.replace("runs=40, bugs=1", "runs=12, faults=['jump', 'race']"), "-rP")
    result.assert_outcomes(passed=1)
    assert "crash:" not in text_of(result).partition("explored")[2]
    assert "crashed after 0 of 2 writes" in text_of(result)


@pytest.mark.slow
def test_a_declared_difference_is_no_failure(run):
    result = run(MARKED.replace("runs=40, bugs=1", "runs=12, off=['O2']"))
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_reference_that_fails_is_an_ordinary_failure(run):
    result = run(MARKED + "    assert fakekube.exists(API, 'Vault', 'b'), 'there is no b'\n")
    result.assert_outcomes(failed=1)
    assert "AssertionError: there is no b" in text_of(result)
    assert "--fakekube-plan" not in text_of(result)
    assert "the test fails without any fault: nothing was explored" in text_of(result)


# --- the test's own part


@pytest.mark.slow
def test_calm_is_false_under_faults(run):
    source = MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)") + (
        "    with open('calm', 'a') as file:\n        print(fakekube.exploration.calm, file=file)\n"
    )
    run(source).assert_outcomes(passed=1)
    with open("calm") as file:
        lines = file.read().split()
    assert (lines[:2], set(lines[2:])) == (["True", "True"], {"False"})


STEPS = """
@pytest.mark.fakekube_explore(runs=40, bugs=1)
def test_vault(fakekube):
    scenario(fakekube)
    with fakekube.exploration.step("second vault, later"):
        fakekube.create(custom("Vault", "b", size=1))
    fakekube.advance(60)
    assert fakekube.exploration.calm or fakekube.exists(API, "Vault", "a")
"""


@pytest.mark.slow
def test_steps_that_do_not_matter_are_left_out(run):
    result = run(STEPS)
    result.assert_outcomes(failed=1)
    text = text_of(result)
    found = re.search(r"--fakekube-plan='(.*)'", text)[1]
    assert found == CRASH.replace("seed=0", "seed=0 skip=second%20vault%2C%20later")
    assert "create vault/b" not in text
    replayed = run(STEPS, "--fakekube-plan", found)
    replayed.assert_outcomes(failed=1)
    assert "O2: secret/a" in text_of(replayed)


@pytest.mark.slow
def test_a_step_that_matters_stays(run):
    source = """
@pytest.mark.fakekube_explore(runs=40, bugs=1)
def test_vault(fakekube):
    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(builder(True))
    with fakekube.exploration.step("create"):
        fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
"""
    result = run(source)
    result.assert_outcomes(failed=1)
    assert f"--fakekube-plan='{CRASH}'" in text_of(result)


@pytest.mark.slow
def test_items_of_an_outside_api_that_are_left(run):
    source = """
def buckets(manager, made):
    live = manager.api_reader

    async def reconcile(request, client):
        vault = await find(live, API, "Vault", request.name, request.namespace)
        if vault is None or (vault.get("status") or {}).get("bucket"):
            return
        made.append(f"bucket-{len(made)}")
        await report(live, vault, bucket=True)

    manager.controller("vault").for_(API, "Vault").complete(reconcile)

@pytest.mark.fakekube_explore(runs=40, bugs=1, faults=["error", "crash"])
def test_buckets(fakekube):
    made = fakekube.exploration.external("buckets", [])
    fakekube.apply(definition("Vault", size="integer"))
    fakekube.start(lambda manager: buckets(manager, made))
    fakekube.create(custom("Vault", size=1))
    fakekube.advance(60)
"""
    result = run(source)
    result.assert_outcomes(failed=1)
    assert "O6: external/buckets/bucket-1 is left at the end (the reference does not make it)" in text_of(result)


@pytest.mark.slow
def test_fixtures_of_a_wider_scope_are_set_up_once(run):
    source = """
@pytest.fixture(scope="module")
def once():
    with open("set-up", "a") as file:
        file.write("up ")
    yield
    with open("set-up", "a") as file:
        file.write("down ")

@pytest.fixture
def each():
    with open("each", "a") as file:
        file.write("up ")

@pytest.mark.fakekube_explore(runs=10)
def test_vault(once, each, fakekube):
    scenario(fakekube, bug=False)

def test_after(once):
    pass
"""
    run(source).assert_outcomes(passed=2)
    with open("set-up") as file:
        assert file.read() == "up down "
    with open("each") as file:
        assert file.read().count("up") == 10


@pytest.mark.slow
def test_a_late_leader_is_planned_and_replayed(run):
    source = """
from tests.simulation.samples import late_leader

@pytest.mark.fakekube_explore(runs=60)
def test_broker(fakekube):
    late_leader.scenario(fakekube, late_leader.make(True))
"""
    found = run(source)
    found.assert_outcomes(failed=1)
    plan = re.search(r"--fakekube-plan='(.*zombie@.*)'", text_of(found))[1]
    replayed = run(source, "--fakekube-plan", plan)
    replayed.assert_outcomes(failed=1)
    assert "no operator takes part in leader election" not in text_of(replayed)


@pytest.mark.slow
def test_the_figures_of_an_exploration_are_properties_of_its_report(run):
    source = MARKED.replace("runs=40, bugs=1", "runs=6, faults=['crash']").replace(
        "scenario(fakekube)", "scenario(fakekube, bug=False)"
    )
    result = run(source, "-rP", "--junitxml=report.xml")
    result.assert_outcomes(passed=1)
    found = dict(re.findall(r'<property name="fakekube_(\w+)" value="(.*?)"', Path("report.xml").read_text()))
    # the reference twice, the first look at both writes, and each of them alone
    assert (found["runs"], found["bugs"], found["crashes"], found["losses"]) == ("5", "0", "2 of 2", "0 of 2")
    assert "crashed after 2 of 2 writes, lost the answers of 0 of 2" in text_of(result)


@pytest.mark.slow
def test_order_alone_is_explored(run):
    source = MARKED.replace("runs=40, bugs=1", "runs=6, faults=['order']").replace(
        "(fakekube)", "(fakekube, bug=False)", 2
    )
    source = source.replace("def test_vault(fakekube, bug=False)", "def test_vault(fakekube)")
    result = run(source, "-rP")
    result.assert_outcomes(passed=1)
    assert "explored 4 plans in 6 runs" in text_of(result)


@pytest.mark.slow
def test_faults_that_cannot_occur_are_named(run):
    result = run(MARKED.replace("runs=40, bugs=1", "runs=6, faults=['zombie', 'hook']"))
    result.assert_outcomes(failed=1)
    assert "nothing was explored: no fault of zombie, hook can occur in this test" in text_of(result)


@pytest.mark.slow
def test_what_random_draws_differs_between_the_references_whatever_has_seeded_it(run, pytester):
    pytester.makeconftest("import random\n\ndef pytest_runtest_call(item):\n    random.seed(5)\n")
    source = MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)") + (
        "    import random\n    with open('draws', 'a') as file:\n        print(random.random(), file=file)\n"
    )
    run(source).assert_outcomes(passed=1)
    with open("draws") as file:
        first, second, third, *_ = file.read().split()
    assert first == third != second


@pytest.mark.slow
def test_names_that_are_generated_differ_between_the_references(run):
    source = MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)") + (
        "    with open('seeds', 'a') as file:\n        print(fakekube._engine.seed, file=file)\n"
    )
    run(source).assert_outcomes(passed=1)
    with open("seeds") as file:
        assert file.read().split()[:3] == ["0", "1", "0"]


@pytest.mark.slow
def test_workers_of_xdist_divide_the_plans(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(OPERATOR + MARKED.replace("scenario(fakekube)", "scenario(fakekube, bug=False)"))
    result = pytester.runpytest_subprocess(*PLUGINS, "-n", "2", "-rP")
    result.assert_outcomes(passed=2)
    assert re.search(r"shard 1 of 2", text_of(result))
    assert re.search(r"shard 2 of 2", text_of(result))
    # 40 runs are 20 for each, and two for the reference of each
    assert re.findall(r"explored \d+ plans in (\d+) runs", text_of(result)) == ["22", "22"]


# --- executors


def samples_scenario(fakekube):
    sample = SAMPLES["marker_before_work"]
    sample.scenario(fakekube, sample.make(True))


def correct_scenario(fakekube):
    sample = SAMPLES["marker_before_work"]
    sample.scenario(fakekube, sample.make(False))


def processes():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.slow
def test_an_exploration_is_divided_among_processes():
    alone = explore(correct_scenario, Settings(runs=30))
    with processes() as executor:
        found = explore(correct_scenario, Settings(runs=90), executor=executor, workers=2)
    assert found.failed is None
    tried = [str(one.plan) for one in found.trials]
    assert len(set(tried)) == len(tried) >= 88
    assert {str(one.plan) for one in alone.trials if len(one.plan.atoms) == 1} <= set(tried)


@pytest.mark.slow
def test_a_failure_that_a_process_finds():
    with processes() as executor:
        found = explore(samples_scenario, Settings(runs=120), executor=executor, workers=2)
    assert found.failed is not None
    assert found.failed.violation.oracle == "O2"
    assert len(found.failed.reduced.plan.atoms) == 1


@pytest.mark.slow
def test_a_thread_of_an_executor_explores():
    """One cluster is open at a time in a process: a pool of one thread."""
    with ThreadPoolExecutor(1) as executor:
        found = explore(samples_scenario, Settings(runs=120), executor=executor, workers=1)
    assert found.failed is not None


@pytest.mark.slow
@pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
def test_dask_explores(pytester, monkeypatch):
    """In a process of its own: a thread of Dask lives as long as its process.

    Not imported here either: it replaces how entry points are found, and later inner runs would miss the plugin.
    """
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = pytester.runpython(pytester.makepyfile(DASK))
    assert re.search(r"^found O2: .* by FK1 seed=0 ", text_of(result), re.M)


DASK = """
from distributed import Client, LocalCluster

from fakekube.simulation.explorer import Settings
from fakekube.simulation.scenario import explore
from tests.simulation.test_explore import samples_scenario

if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found = explore(samples_scenario, Settings(runs=120), executor=client.get_executor(), workers=2)
    print(f"found {found.failed.violation} by {found.failed.reduced.plan}")
"""
