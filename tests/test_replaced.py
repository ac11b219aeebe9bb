"""docs/concepts/what-is-replaced.md lists every attribute that an open cluster replaces, and no other."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

#: Prints the attributes of modules and classes that differ while a cluster is open, and whether other parts do.
SCRIPT = """
import asyncio.subprocess, concurrent.futures.thread, json, logging, os, random, sched, selectors, signal, ssl
import subprocess, sys, uuid
import dateutil.parser, freezegun, kr8s, kubernetes.client, kubernetes.config, kubernetes_asyncio.client
import kubernetes_asyncio.config, time_machine
from fakekube import FakeKube

os.environ["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"

def attributes():
    found = {}
    for title, module in list(sys.modules.items()):
        if module is None or title.partition(".")[0] in ("fakekube", "controllerlib", "__main__"):
            continue
        for name, value in list(vars(module).items()):
            found[f"{title}.{name}"] = value
            if isinstance(value, type) and getattr(value, "__module__", "") == title:
                for part, inner in list(vars(value).items()):
                    found[f"{title}.{value.__qualname__}.{part}"] = inner
    return found

def parts():
    return {
        "sys.meta_path": tuple(map(id, sys.meta_path)),
        "os.environ": sorted(os.environ.items()),
        "random": hash(random.getstate()),
        "SIGRTMIN": signal.getsignal(signal.SIGRTMIN + 11),
        "concurrent.futures": len(logging.getLogger("concurrent.futures").filters),
        "NATIVE_TYPES_MAPPING": dict(kubernetes.client.ApiClient.NATIVE_TYPES_MAPPING),
    }

def difference(**settings):
    before, others = attributes(), parts()
    with FakeKube(**settings) as fakekube:
        fakekube.settle()
        during, others_during = attributes(), parts()
    after, others_after = attributes(), parts()
    classes = {name.rpartition(".")[0] for name in before} - set(sys.modules)  # an attribute may hide an inherited one
    changed = {
        name: value
        for name, value in during.items()
        if (name in before or name.rpartition(".")[0] in classes) and value is not before.get(name)
    }
    left = [name for name in changed if after.get(name) is not before.get(name)]
    left += [name for name in others if others[name] != others_after[name]]
    return (
        {name: [id(value), id(before.get(name))] for name, value in changed.items()},
        [name for name in others if others[name] != others_during[name]],
        left,
    )

difference()  # imports what is imported on first use
print(json.dumps({"plain": difference(wall_clock=False), "frozen": difference()}))
"""


@pytest.fixture(scope="module")
def replaced():
    """What `difference` returns, by whether the wall clock is frozen."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def listed():
    """The attributes in the first column of the tables, with the heading of their section."""
    section, found = "", {}
    for line in (ROOT / "docs" / "concepts" / "what-is-replaced.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith("| Replaced"):
            for name in re.findall(r"`([\w.]+\.\w+)`", line.split("|")[1]):
                found[name] = section
    return found


def of_page(changed):
    """The attributes that the page has to list: without those of the same value in other modules (`from x import y`)."""
    names = listed()
    known = {tuple(values) for name, values in changed.items() if name in names}
    return {
        name
        for name, values in changed.items()
        if tuple(values) not in known and not any(name.startswith(f"{one}.") for one in names)
    }


@pytest.mark.parametrize("kind", ["plain", "frozen"])
def test_each_replaced_attribute_is_listed(replaced, kind):
    changed, _, _ = replaced[kind]
    assert len(changed) > 50
    assert of_page(changed) == set()


def test_each_listed_attribute_is_replaced(replaced):
    """Those of sections that hold without freezing also with `wall_clock=False`."""
    plain, frozen = replaced["plain"][0], replaced["frozen"][0]
    wrong = {
        name
        for name, section in listed().items()
        if name not in (plain if section != "With a frozen wall clock" else frozen) and name not in PARTS
    }
    assert wrong == set()


#: What a first column names and is not replaced, but changed; and a class whose methods are.
PARTS = {
    "os.environ",
    "sys.meta_path",
    "concurrent.futures",
    "freezegun.api.FakeDatetime",
    "kubernetes.client.api_client.ApiClient.NATIVE_TYPES_MAPPING",
}


def test_the_other_parts_are_listed(replaced):
    text = (ROOT / "docs" / "concepts" / "what-is-replaced.md").read_text()
    changed = set(replaced["plain"][1]) | set(replaced["frozen"][1])
    assert {"sys.meta_path", "os.environ", "random", "concurrent.futures"} <= changed
    assert [name for name in changed if f"{name}`" not in text and name != "SIGRTMIN"] == []


@pytest.mark.parametrize("kind", ["plain", "frozen"])
def test_everything_is_restored(replaced, kind):
    assert replaced[kind][2] == []
