"""The page of a server: its files, what it asks for, and in a browser with many objects and names that are markup."""

import asyncio
import json
import re

import pytest

from fakekube import webpages
from fakekube.apiserver.user import ADMIN
from fakekube.control.api import ControlApi
from fakekube.control.guard import Guard
from fakekube.control.pagefiles import FILES
from fakekube.control.steering import Beside, Steering
from fakekube.server.direct import DirectTransport
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.server.standalone import Options, running
from tests.control.rig import CONFIGMAPS, stepped
from tests.harness.browser import browser, in_a_browser

SCRIPTS = {path: webpages.read(name) for path, name in FILES.items() if name.endswith(".js")}

#: A name that a ClusterRole may have, and a User-Agent.
MARKUP = "<img src=x onerror=document.title=1>"


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_makes_no_markup_of_text(path):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", SCRIPTS[path])


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_imports_what_the_server_has(path):
    for names, module in re.findall(r'^import \{(.*)\} from "\./([\w-]+)\.js";$', SCRIPTS[path], re.MULTILINE):
        exported = re.findall(r"^export (?:async )?(?:const|let|function) ([\w$]+)", SCRIPTS[f"page/{module}.js"], re.M)
        assert {one.strip() for one in names.split(",")} <= set(exported)


@stepped
async def test_files_are_served_with_a_strict_policy_and_nothing_beside_them(it):
    for path in FILES:
        code, found = await it.page(path)
        assert (code, "default-src 'none'" in found.headers["Content-Security-Policy"]) == (200, True)
        assert "unsafe" not in found.headers["Content-Security-Policy"]
    for path in ("page/../api.py", "page/main.js", "page/"):
        assert (await it.page(path))[0] == 404


@stepped
async def test_rows_of_objects_and_the_relatives_and_versions_of_one(it):
    _, _, owner = await it.make("a")
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"]}
    body = {"metadata": {"name": "b", "ownerReferences": [ref]}, "data": {"x": "1"}}
    await it.client().request("POST", CONFIGMAPS, body=body)
    await it.client().request("PUT", f"{CONFIGMAPS}/b", body={**body, "data": {"x": "2"}})
    _, kinds = await it.call("GET", "/kinds")
    assert next(one["objects"] for one in kinds["items"] if one["collection"] == "configmaps") >= 2
    _, found = await it.call("GET", "/objects", collection="configmaps")
    assert {"default/a", "default/b"} <= {path for path, _, _ in found["rows"]}
    _, b = await it.call("GET", "/object", collection="configmaps", path="default/b")
    assert [one["verb"] for one in b["versions"]] == ["create", "update"]
    assert (b["owners"][0]["kind"], b["owners"][0]["path"], b["owners"][0]["exists"]) == (
        "ConfigMap",
        "default/a",
        True,
    )
    assert b["yaml"].startswith('apiVersion: v1\ndata:\n  x: "2"\nkind: ConfigMap\n')
    assert "managedFields" not in b["yaml"]
    _, a = await it.call("GET", "/object", collection="configmaps", path="default/a")
    assert [one["path"] for one in a["dependents"]] == ["default/b"]
    await it.client().request("DELETE", f"{CONFIGMAPS}/a")
    _, b = await it.call("GET", "/object", collection="configmaps", path="default/b")
    assert b["owners"] == [{"kind": "ConfigMap", "name": "a", "exists": False}]
    _, a = await it.call("GET", "/object", collection="configmaps", path="default/a")
    assert (a["exists"], a["versions"][-1]["verb"]) == (False, "delete")
    assert await it.refused("GET", "/object", collection="configmaps", path="default/none") == (
        404, "there is no object 'default/none' in 'configmaps'",
    )  # fmt: skip
    assert (await it.refused("GET", "/objects", collection="none"))[0] == 404


@stepped
async def test_changes_and_requests_are_events(it):
    answer = await it.answered("GET", "/changes")
    stream = answer.stream
    arriving = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)  # noqa: TID251 - it begins to listen
    await it.make("a")
    kinds = []
    while kinds[-1:] != ["request"]:
        for part in (await arriving).decode().split("\n\n")[:-1]:
            name, data = re.fullmatch(r"event: (\w+)\ndata: (.*)", part).groups()
            kinds.append(name)
            if name == "change":
                assert json.loads(data)["path"] == "default/a"
        arriving = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)  # noqa: TID251 - it listens
    arriving.cancel()
    assert kinds == ["change", "request"]


class TestInABrowser:
    pytestmark = in_a_browser

    @pytest.fixture
    def shown(self):
        """What `act(page, found, client)` returns for the page of a new server, which `fill(client, runner)` has filled."""

        def shown(fill, act):
            async def main():
                loop = asyncio.get_running_loop()
                clock = PacedClock(loop)
                async with running(Options(control="on"), None, clock) as found:
                    runner = found.server.runner
                    client = DirectTransport(runner, user=ADMIN, headers={"User-Agent": MARKUP})
                    await fill(client)
                    runner.control = ControlApi(Steering(found, clock, Beside(None, loop)), Guard(is_local=True))
                    async with browser() as page:
                        await page.command("Log.enable")
                        await page.open(f"{found.server.url}/_fakekube/")
                        return await act(page, client)

            with asyncio.Runner(loop_factory=PacedLoop) as runner:
                return runner.run(main())

        return shown

    def test_of_20000_objects_those_in_sight_are_painted(self, shown):
        async def fill(client):
            for number in range(20_000):
                await client.request("POST", CONFIGMAPS, body={"metadata": {"name": f"c-{number:05}"}})

        async def act(page, client):
            await until(page, "document.querySelectorAll('.line').length > 10")
            painted = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            listed = await page.evaluate(
                "performance.getEntriesByType('resource').filter(one => one.name.includes('/objects?')).at(-1).responseEnd"
            )
            lines = await page.evaluate("document.querySelectorAll('.line').length")
            height = await page.evaluate("document.querySelector('.sheet').offsetHeight")
            await client.request("POST", CONFIGMAPS, body={"metadata": {"name": "a-new"}})
            await until(page, "document.querySelector('.line').dataset.path === 'default/a-new'")
            await page.evaluate("document.getElementById('rows').scrollTop = 1e9")
            await until(
                page, "[...document.querySelectorAll('.line')].some(one => one.dataset.path === 'default/c-19999')"
            )
            return painted, listed, lines, height

        painted, listed, lines, height = shown(fill, act)
        print(f"first contentful paint {painted:.0f} ms, 20,000 rows received {listed:.0f} ms after the navigation")
        assert lines < 200
        assert height > 20_000 * 26

    def test_names_that_are_markup_stay_text(self, shown):
        async def fill(client):
            made = {"metadata": {"name": MARKUP, "annotations": {"note": MARKUP}}, "rules": []}
            code, _, body = await client.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", body=made)
            assert code == 201, body

        async def act(page, client):
            await until(page, "document.querySelector('[data-collection^=clusterroles]')")
            await page.evaluate("document.querySelector('[data-collection^=clusterroles]').click()")
            await until(
                page, f"[...document.querySelectorAll('.line')].some(one => one.dataset.path === {json.dumps(MARKUP)})"
            )
            await page.evaluate(
                f"[...document.querySelectorAll('.line')].find(one => one.dataset.path === {json.dumps(MARKUP)}).click()"
            )
            await until(page, "document.getElementById('yaml')")
            await client.request("GET", f"{CONFIGMAPS}/none")
            for tab in ("Requests", "Timeline", "Findings", "Faults", "Clock"):
                await page.click(f"[data-tab={tab}]")
                await until(page, "document.getElementById('rows').children.length")
            await page.click("[data-tab=Requests]")
            await until(page, f"document.body.innerText.includes({json.dumps(MARKUP)})")
            return await page.evaluate("[document.images.length, document.title]")

        assert shown(fill, act) == [0, "fakekube"]

    def test_a_fault_is_armed_and_disarmed(self, shown):
        async def act(page, client):
            await page.click("[data-tab=Faults]")
            await until(page, "document.getElementById('fault')")
            await press(page, "Arm")
            await until(page, "document.querySelector('.fault')")
            armed = await page.text(".fault .mono")
            await press(page, "Disarm")
            await until(page, "!document.querySelector('.fault')")
            return json.loads(armed)

        assert shown(nothing, act) == {"verb": "update", "resource": "configmaps", "error": 409, "times": 1}

    def test_an_answer_that_comes_late_does_not_take_the_place_of_what_was_asked_for_last(self, shown):
        hold = """(() => { const asked = window.fetch; window.fetch = async (...request) => { const answer = await asked(...request);
          if (request[0].includes("/objects?")) await new Promise(done => { window.release = done; }); return answer; }; })()"""

        async def two(client):
            for name in ("a", "b"):
                await client.request("POST", CONFIGMAPS, body={"metadata": {"name": name}})

        async def act(page, client):
            await until(page, "document.querySelector('.line')")
            await page.evaluate(hold)
            await page.click("[data-tab=Objects]")
            await until(page, "window.release")
            await page.click("[data-tab=Faults]")
            await until(page, "document.getElementById('fault')")
            await page.evaluate("window.release()")
            return await page.texts("#rows button")

        assert shown(two, act) == ["Arm", "Disarm all"]

    def test_buttons_that_are_pressed_at_once_all_have_an_effect_in_the_panel(self, shown):
        hold = """(() => { const asked = window.fetch; let removed = 0; window.fetch = async (...request) => {
          if (request[1].method === "DELETE" && ++removed === 2) await new Promise(done => { window.release = done; });
          return asked(...request); }; })()"""

        async def act(page, client):
            await page.click("[data-tab=Faults]")
            for number in (1, 2):
                await until(page, "document.getElementById('fault')")
                await press(page, "Arm")
                await until(page, f"document.querySelectorAll('.fault').length === {number}")
            await page.evaluate(hold)
            await page.evaluate("document.querySelectorAll('.fault button').forEach(one => one.click())")
            await until(page, "document.querySelectorAll('.fault').length === 1 && window.release")
            await page.evaluate("window.release()")
            await until(page, "!document.querySelector('.fault')")

        shown(nothing, act)


async def nothing(client):
    """No object is needed."""


async def press(page, text):
    """Press the first button with this text."""
    await page.evaluate(
        f"[...document.querySelectorAll('button')].find(one => one.innerText === {json.dumps(text)}).click()"
    )


async def until(page, condition):
    """Wait until an expression is true in the page."""
    frame = "new Promise(done => requestAnimationFrame(done))"
    done = await page.evaluate(
        f"(async () => {{ for (let n = 0; n < 1200; n++) {{ if ({condition}) return true; await {frame}; }} return false; }})()"
    )
    assert done, f"{condition}: {await page.evaluate('document.body.innerText')}"
