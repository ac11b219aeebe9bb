"""The control API of a listening server."""

import asyncio
import http.client
import json
import os
import tempfile
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from fakekube.apiserver.wire import codec
from fakekube.cli import main as command
from fakekube.control.api import ControlApi
from fakekube.control.guard import Guard
from fakekube.control.steering import Beside, Steering
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.server.standalone import Options, running
from tests.server.rig import FUSE


def served(test):
    """Run an async test with a listening server; it is called with the server and a function that asks it."""

    async def main():
        loop = asyncio.get_running_loop()
        clock = PacedClock(loop)
        async with asyncio.timeout(FUSE), running(Options(control="on"), None, clock) as found:
            guard = Guard(is_local=True, tokens=found.administrators)
            found.server.runner.control = ControlApi(Steering(found, clock, Beside(None, loop)), guard)

            def ask(method, path, body=None, **headers):
                data = None if body is None else json.dumps(body).encode()
                names = {name.replace("_", "-"): value for name, value in headers.items()}
                named = {"Content-Type": "application/json", **names}
                request = urllib.request.Request(f"{found.server.url}{path}", data, named, method=method)
                try:
                    with urllib.request.urlopen(request, timeout=FUSE) as answer:
                        return answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    with error:
                        return error.code, error.read()

            await test(found, partial(asyncio.to_thread, ask))

    def run():
        with asyncio.Runner(loop_factory=PacedLoop) as runner:
            runner.run(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@served
async def test_its_own_requests_are_in_no_record(found, ask):
    assert (await ask("GET", "/api/v1/namespaces"))[0] == 200
    code, body = await ask("GET", "/_fakekube/v1/requests")
    assert (code, [one["path"] for one in json.loads(body)["items"]]) == (200, ["/api/v1/namespaces"])
    assert len(found.server.runner.log) == 1
    assert (await ask("GET", "/_fakekube"))[0] == 404


@served
async def test_it_goes_on_while_the_server_is_down(found, ask):
    assert await ask("POST", "/_fakekube/v1/server:down") == (204, b"")
    with pytest.raises((ConnectionError, urllib.error.URLError)):
        await ask("GET", "/api/v1/namespaces")
    assert json.loads((await ask("GET", "/_fakekube/v1/health"))[1])["ready"] is False
    assert await ask("POST", "/_fakekube/v1/server:restart") == (204, b"")
    assert (await ask("GET", "/api/v1/namespaces"))[0] == 200


@served
async def test_a_browser_that_was_led_here_is_refused(found, ask):
    for headers in (
        {"Host": "attacker.example"},
        {"Origin": "https://attacker.example"},
        {"Sec_Fetch_Site": "cross-site"},
    ):
        code, body = await ask("POST", "/_fakekube/v1/reset", {}, **headers)
        assert (code, json.loads(body)["reason"]) == (403, "Forbidden"), headers


@served
async def test_connections_are_cut_by_user_agent(found, ask):
    revision = found.server.runner.apiserver.store.revision
    path = f"/api/v1/pods?watch=1&resourceVersion={revision}&timeoutSeconds=60"
    began = asyncio.Event()
    found.server.runner.on_request(lambda record: began.set())
    watching = asyncio.ensure_future(ask("GET", path, User_Agent="mine/1"))
    await began.wait()
    code, body = await ask("POST", "/_fakekube/v1/connections:cut", {"userAgent": "other*"})
    assert (code, json.loads(body)) == (200, {"cut": 0})
    code, body = await ask("POST", "/_fakekube/v1/connections:cut", {"userAgent": "mine*"})
    assert json.loads(body) == {"cut": 1}
    with pytest.raises((ConnectionError, http.client.IncompleteRead)):
        await watching


CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@served
async def test_a_state_may_be_larger_than_a_request_for_the_api(found, ask):
    state = "/_fakekube/v1/state"
    text = (await ask("GET", state))[1].decode()
    large = {"text": text.replace("\n", " " * codec.MAX_BODY + "\n", 1)}
    assert (await ask("PUT", state, large))[0] == 200
    for path, headers in (("/_fakekube/v1/quiet", {}), (state, {"Host": "example.com"})):
        code, said = await ask("PUT" if path == state else "POST", path, large, **headers)
        assert (code, json.loads(said)["message"]) == (413, f"Request entity too large: limit is {codec.MAX_BODY}")


@served
async def test_the_snapshot_command_saves_restores_and_exports(found, ask):
    url = found.server.url

    def run_snapshot(*arguments, file="state", at=("--server", f"{url}/")):
        done = CliRunner().invoke(command, ["snapshot", arguments[0], str(folder / file), *arguments[1:], *at])
        return done.exit_code, done.output

    with tempfile.TemporaryDirectory() as name:
        folder, run_snapshot = Path(name), partial(asyncio.to_thread, run_snapshot)
        await ask("POST", CONFIGMAPS, {"metadata": {"name": "kept"}, "data": {"x": "1"}})
        assert await run_snapshot("save") == (0, "")
        saved = (folder / "state").read_text().splitlines()
        assert json.loads(saved[0])["objects"] == len(saved) - 1
        await ask("DELETE", f"{CONFIGMAPS}/kept")
        await ask("POST", CONFIGMAPS, {"metadata": {"name": "later"}})
        assert await run_snapshot("restore") == (0, f"{len(saved) - 1} objects\n")
        names = [one["metadata"]["name"] for one in json.loads((await ask("GET", CONFIGMAPS))[1])["items"]]
        assert (("kept" in names), ("later" in names)) == (True, False)
        assert await run_snapshot("export", "--clean", file="changed") == (0, "")
        (made,) = [
            one for one in yaml.safe_load_all((folder / "changed").read_text()) if (one or {}).get("data") == {"x": "1"}
        ]
        assert (made["metadata"]["name"], "uid" in made["metadata"]) == ("kept", False)
        assert await run_snapshot("export", file="whole") == (0, "")
        assert "uid: " in (folder / "whole").read_text()

        (folder / "torn").write_text("{")
        code, output = await run_snapshot("restore", file="torn")
        assert (code, output.startswith(f"Error: {folder}/torn: the file is ")) == (1, True)
        code, output = await run_snapshot("save", file="none/state")
        assert (code, output) == (1, f"Error: {folder}/none/state: No such file or directory\n")

        # by a kubeconfig, whose address --server replaces
        user = {"name": "u", "user": {"token": "t"}}
        cluster = {"name": "c", "cluster": {"server": url}}
        context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
        config = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        by_file = ("--kubeconfig", str(folder / "kubeconfig"))
        os.remove(folder / "state")
        assert (await run_snapshot("save", at=by_file))[0] == 0
        assert (folder / "state").exists()
        found.server.runner.control = None
        code, output = await run_snapshot("save")
        assert (code, output) == (1, f"Error: 404: the server at {url} has no control API\n")
