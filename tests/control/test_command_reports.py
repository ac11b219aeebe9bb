"""What `fakekube run` reports when its command has ended, in this process and in stepped time."""

import asyncio
import socket
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from fakekube import commandserver
from fakekube.control.runreport import Reports
from fakekube.server.direct import DirectTransport
from fakekube.server.process.child import CannotRun
from fakekube.server.process.pacedloop import PacedLoop
from fakekube.server.standalone import Options
from tests.control.rig import CONFIGMAPS, stepped


class Commands:
    """Runs a command for a while, which writes the same object twice, and returns its status."""

    def __init__(self, it, status):
        self._it, self._status = it, status

    async def run(self, command, environment):
        assert environment["FAKEKUBE_URL"] == self._it.steering.running.server.url
        if self._status is None:
            raise CannotRun(127, "no such command")
        await self._it.loop.advance(2.5)
        await self._it.make("a")
        for _ in range(2):
            await self._it.client().request(
                "PUT", f"{CONFIGMAPS}/a", body={"metadata": {"name": "a"}, "data": {"x": "1"}}
            )
        return self._status


def reported(capsys, status, **reports):
    found = []

    @stepped
    async def run(it):
        await it.loop.advance(100)
        served = SimpleNamespace(steering=it.steering, running=it.steering.running)
        found.append(await commandserver.run(["make", "it"], Commands(it, status), Reports(**reports), served))

    run()
    return found[0], capsys.readouterr().err.splitlines()


NOOP = "fakekube run: 1 finding about the clients:"


@pytest.mark.parametrize(
    ("status", "findings", "ends", "lines"),
    [
        (0, "warn", 0, 2),
        (0, "error", 1, 2),
        (0, "off", 0, 0),
        (3, "error", 3, 2),
        (3, "off", 3, 0),
    ],
)
def test_the_status_and_the_findings_of_a_command(capsys, status, findings, ends, lines):
    found, said = reported(capsys, status, findings=findings)
    assert (found, len(said), said[:1]) == (ends, lines, [NOOP][:lines])
    assert all("[noop-write] mine/1.0" in one for one in said[1:])


def test_a_command_that_cannot_run_has_no_reports(capsys, tmp_path):
    found, said = reported(capsys, None, junit=tmp_path / "junit.xml")
    assert (found, said, list(tmp_path.iterdir())) == (127, ["fakekube run: no such command"], [])


def test_the_files_of_the_reports(capsys, tmp_path):
    rbac = {"kubernetes-admin": tmp_path / "admin.yaml", "alice": tmp_path / "alice.yaml"}
    reported(capsys, 0, junit=tmp_path / "junit.xml", timeline=tmp_path / "timeline.html", rbac=rbac)
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    command, *_ = suite.findall("testcase")
    assert (command.get("name"), command.get("time"), suite.get("time")) == ("make it", "2.500", "2.500")
    assert "make it" in (tmp_path / "timeline.html").read_text()
    assert "- create\n" in (tmp_path / "admin.yaml").read_text()
    assert "create" not in (tmp_path / "alice.yaml").read_text()


@pytest.mark.parametrize(("verbose", "shown"), [(0, []), (1, ["mine/1"]), (2, ["mine/1", "fakekube/own"])])
def test_the_requests_that_a_server_prints(capsys, verbose, shown):
    async def ask(found):
        for agent in ("mine/1", "fakekube/own"):
            transport = DirectTransport(found.running.server.runner, headers={"User-Agent": agent})
            await transport.request("GET", CONFIGMAPS)

    async def main():
        with socket.create_server(("127.0.0.1", 0)) as sock:
            selected = commandserver.Selected((), None, (), verbose, "text")
            await commandserver.served(Options(control="off"), selected, sock, ask)

    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        runner.run(main())
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == shown
