"""The JavaScript modules of pages: as a browser loads them one by one, and as one script."""

import asyncio
import json
import re
import socket
from pathlib import Path

import aiohttp.web
import pytest

from fakekube import webpages
from fakekube.harness.records.page import COMPARISON, MODULES
from tests.harness.browser import browser, in_a_browser

TIMELINE = Path(webpages.__file__).parent / "timeline"
ORDER = [*MODULES, COMPARISON]

IMPORT = re.compile(r'^import \{(.*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:const|let|function) ([\w$]+)(?:.*?, (bySerial|effectsOf) =)?", re.MULTILINE)
DECLARED = re.compile(r"^(?:export )?(?:const|let|function) ([\w$]+)", re.MULTILINE)

ENTRY = {
    "at": 0, "took": 0, "actor": "test", "kind": "note", "rv": "", "cause": "", "object": "", "because": [],
    "failed": False, "system": False, "facts": [], "changes": [],
}  # fmt: skip


def test_each_file_is_in_the_page():
    assert sorted(path.stem for path in TIMELINE.glob("*.js")) == sorted(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_module_imports_what_those_before_it_export(name):
    text = webpages.read(f"timeline/{name}.js")
    assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(IMPORT.findall(text))
    for names, module in IMPORT.findall(text):
        exported = {one for found in EXPORT.findall(webpages.read(f"timeline/{module}.js")) for one in found if one}
        assert {one.strip() for one in names.split(",")} <= exported
        assert ORDER.index(module) < ORDER.index(name)


@pytest.mark.parametrize("name", ORDER)
def test_a_module_uses_what_it_imports(name):
    text = webpages.read(f"timeline/{name}.js")
    body = IMPORT.sub("", text)
    unused = [
        one.strip()
        for names, _ in IMPORT.findall(text)
        for one in names.split(",")
        if not re.search(rf"(?<![\w$]){re.escape(one.strip())}(?![\w$])", body)
    ]
    assert unused == []


def test_no_two_modules_declare_the_same_name():
    declared = [one for name in ORDER for one in DECLARED.findall(webpages.read(f"timeline/{name}.js"))]
    assert sorted(declared) == sorted(set(declared))


def test_a_bundle_has_no_imports_and_exports():
    made = webpages.bundle([f"timeline/{name}.js" for name in ORDER])
    assert not re.search(r"^(import|export)\b", made, re.MULTILINE)


class TestInABrowser:
    pytestmark = in_a_browser

    @pytest.fixture
    def evaluated(self, tmp_path):
        """The value of an expression in which the modules are `m.NAME`, loaded one by one, with some entries."""

        def evaluated(entries, expression):
            document = json.dumps({"title": "", "failure": "", "dropped": 0, "entries": entries})
            page = f'<!doctype html><title>modules</title><script type="application/json" id="document">{document}</script>'

            async def driven():
                application = aiohttp.web.Application()
                application.router.add_static("/timeline", TIMELINE)
                application.router.add_get("/", _answer(page))
                runner = aiohttp.web.AppRunner(application)
                await runner.setup()
                with socket.create_server(("127.0.0.1", 0)) as listening:
                    await aiohttp.web.SockSite(runner, listening).start()
                    try:
                        async with browser() as opened:
                            await opened.open(f"http://127.0.0.1:{listening.getsockname()[1]}/")
                            return await opened.evaluate(f"""(async () => {{ const m = {{}};
                              for (const name of {json.dumps(MODULES)}) m[name] = await import(`/timeline/${{name}}.js`);
                              return {expression}; }})()""")
                    finally:
                        await runner.cleanup()

            return asyncio.run(driven())

        return evaluated

    def test_times(self, evaluated):
        found = evaluated(
            [], "[m.text.clock(93784005000), m.text.clock(0), m.text.span(7260e6), m.text.span(0), m.text.ordinal(112)]"
        )
        assert found == ["+1d 02:03:04.005", "+00:00:00", "2 h 1 min", "0 s", "112th"]

    def test_chains(self, evaluated):
        entries = [
            {**ENTRY, "serial": n, "because": because} for n, because in [(1, []), (2, [1]), (3, [2, 1]), (4, [])]
        ]
        found = evaluated(entries, "[[...m.entries.chainOf(2)], m.entries.edges(3, m.entries.causesOf)]")
        assert found == [[2, 1, 3], [[3, 2], [3, 1], [2, 1]]]

    def test_lanes(self, evaluated):
        """The test, then others in the order of their first entry, then the cluster's own."""
        actors = [("kubelet", True), ("web", False), ("cluster", True), ("test", False), ("db", False)]
        entries = [{**ENTRY, "serial": n, "actor": actor, "system": own} for n, (actor, own) in enumerate(actors, 1)]
        names = "(() => { const [lanes, numbers] = m.state.lanesOf(m.entries.all); return [lanes.map(one => one.name), [...numbers]]; })()"
        folded, numbers = evaluated(entries, names)
        assert folded == ["test", "web", "db", "system (2)"]
        assert dict(numbers) == {"test": 0, "web": 1, "db": 2, "kubelet": 3, "cluster": 3}
        unfolded, numbers = evaluated(entries, f"m.state.state.unfolded.add('system ') && {names}")
        assert unfolded == ["test", "web", "db", "system (2)", "kubelet", "cluster"]
        assert dict(numbers) == {"test": 0, "web": 1, "db": 2, "kubelet": 4, "cluster": 5}
        assert evaluated(entries[:2], names)[0] == ["web", "kubelet"]  # one is not folded


def _answer(page):
    async def answer(request):
        return aiohttp.web.Response(text=page, content_type="text/html")

    return answer
