"""The command line in this process: how options are read, what is said at the start, and how commands end."""

import asyncio
import json
import os
import re
import signal
import sys
import threading
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import click
import pytest
import yaml
from click.testing import CliRunner

from fakekube import cli, commandoptions
from fakekube.apiserver.versions import RECORDED
from fakekube.clustersettings import SETTINGS, ClusterSettings, _setting, built_from, marker_signature, text_of
from fakekube.server.standalone import Options

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"


def invoked(*arguments):
    """The exit status and the output of a command in this process. A server that ends ignores signals from then on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        found = CliRunner().invoke(cli.main, list(map(str, arguments)))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def parsed(command, *arguments):
    """The options of a command line, as the command gets them."""
    parent = click.Context(cli.main, **cli.main.context_settings)
    return command.make_context("x", list(arguments), parent).params


# --- options


def test_the_defaults_of_a_server():
    options = parsed(cli.serve)
    beside = {name: options.pop(name) for name in ("controllers", "nodes", "stages", "verbose", "log_format", "clock")}
    assert beside == {
        "controllers": (), "nodes": None, "stages": (), "verbose": 0, "log_format": "text", "clock": "real",
    }  # fmt: skip
    assert Options(**options) == Options(port=8001, control="on")
    assert options["kubernetes_version"] == RECORDED
    assert (options["history_window"], options["service_cluster_ip_range"]) == (20_000, "10.0.0.0/12")


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--controllers", "*, -gc", "--controllers", ",job"], "controllers", None),
        (
            ["--controllers", "deployment, job", "--controllers", ",replicaset"],
            "controllers",
            ("deployment", "job", "replicaset"),
        ),
        (["--api-audiences", "a, b,", "--api-audiences", "c"], "api_audiences", ("a", "b", "c")),
        (["--enable-admission-plugins", "A,B"], "enable_admission_plugins", ("A", "B")),
        (
            ["--disable-admission-plugins", "A", "--disable-admission-plugins", " B "],
            "disable_admission_plugins",
            ("A", "B"),
        ),
        (["--kubernetes-version", "v1.31.4"], "kubernetes_version", "1.31"),
        (["--authorization-mode", "Node,RBAC"], "authorization_mode", "Node,RBAC"),
        (["--nodes", "0"], "nodes", 0),
        (["--port", "65535"], "port", 65535),
        (["--port", "0"], "port", 0),
        (["--history-window", "1"], "history_window", 1),
        (["--manifests", "a", "--manifests", "b"], "manifests", (Path("a"), Path("b"))),
        (["--token-auth-file", "a"], "token_auth_file", Path("a")),
        (["--kubeconfig", "a"], "kubeconfig", Path("a")),
        (["--client-ca-file", "a"], "client_ca_file", Path("a")),
        (["--service-account-issuer", "a", "--service-account-issuer", "b"], "service_account_issuer", ("a", "b")),
        (["--service-account-key-file", "a"], "service_account_key_file", (Path("a"),)),
        (["--service-account-signing-key-file", "a"], "service_account_signing_key_file", Path("a")),
        (["--webhook-service", "a/b=c"], "webhook_service", ("a/b=c",)),
        (["--tls"], "tls", True),
        (["--tls-san", "a", "--tls-san", "10.0.0.7"], "tls_san", ("a", "10.0.0.7")),
        (["--user", "a=b,c", "--user", "d"], "user", ("a=b,c", "d")),
        (["--wait-file", "a"], "wait_file", Path("a")),
        (["-vv"], "verbose", 2),
        (["--log-format", "json"], "log_format", "json"),
        (["--audit-policy-file", "a"], "audit_policy_file", Path("a")),
        (["--data-dir", "a"], "data_dir", Path("a")),
        (["--fsync", "commit"], "fsync", "commit"),
        (["--audit-log-path", "-"], "audit_log_path", Path("-")),
        (["--clock", "x2.5"], "clock", "x2.5"),
        (["--control", "off"], "control", "off"),
        (["--bind-address", "::"], "bind_address", "::"),
    ],
)
def test_an_option(arguments, name, value):
    if value is None:
        with pytest.raises(click.BadParameter, match="gc"):
            parsed(cli.serve, *arguments)
    else:
        assert parsed(cli.serve, *arguments)[name] == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kubernetes-version", "1.2"], "1.2"),
        (["--authorization-mode", "Sometimes"], "Sometimes"),
        (["--controllers", "nothing"], "nothing"),
        (["--nodes", "-1"], "-1"),
        (["--port", "65536"], "65536"),
        (["--port", "-1"], "-1"),
        (["--history-window", "0"], "0"),
        (["--stages", "/no/such.yaml"], "/no/such.yaml"),
        (["--unknown"], "unknown"),
        (["--clock", "fast"], "'fast' is not a mode of the clock"),
    ],
)
def test_an_invalid_option_is_an_error_of_the_command_line(arguments, said):
    code, output = invoked("serve", *arguments)
    assert code == 2
    assert said in output


def test_options_of_a_command_are_passed_on():
    found = parsed(cli.run, "--tls", "--", "ls", "-l", "--tls")
    assert (found["command"], found["tls"]) == (("ls", "-l", "--tls"), True)
    assert invoked("run")[0] == 2
    assert invoked("controllers")[0] == 2


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["serve", "-h"], ["run", "--help"], ["controllers", "-h"]])
def test_there_is_help(arguments):
    code, output = invoked(*arguments)
    assert (code, output.startswith("Usage: ")) == (0, True)


def test_the_help_shows_the_defaults():
    output = " ".join(invoked("serve", "--help")[1].split())
    for default in ("8001", "127.0.0.1", "AlwaysAllow", "10.0.0.0/12", "20000", RECORDED):
        assert f"[default: {default}" in output
    names = [parameter.name for parameter in cli.serve.params]
    assert names[:6] == ["port", "kubeconfig", "controllers", "nodes", "stages", "bind_address"]
    assert names[-1] == "kubernetes_version"


def test_the_version():
    assert invoked("--version")[0] == 0


# --- what is said


class Found:
    """A server as the greeting reads it."""

    def __init__(self, *, loaded=0, ca=None, token=""):
        self.loaded, self.ca, self.token = loaded, ca, token
        version = {"gitVersion": "v1.36.2"}
        self.server = SimpleNamespace(
            url="http://x", runner=SimpleNamespace(apiserver=SimpleNamespace(version=version))
        )


@pytest.mark.parametrize(
    ("found", "options", "controllers", "lines"),
    [
        ({}, {}, [], ["kubectl --server http://x get namespaces"]),
        ({"loaded": 3}, {"manifests": (Path("a"), Path("b")), "kubeconfig": Path("k")}, [],
         ["loaded 3 objects from a, b", "kubectl --kubeconfig k get namespaces"]),
        ({"ca": b"x"}, {}, [], ["use --kubeconfig FILE to write a kubeconfig with the certificate authority and credentials"]),
        ({"token": "x"}, {}, [], ["use --kubeconfig FILE to write a kubeconfig with a token"]),
        ({"token": "t"}, {"kubeconfig": Path("k"), "authorization_mode": "RBAC"}, [],
         ["k has a token, which kubectl does not send over plain HTTP: add --tls for kubectl"]),
        ({"ca": b"x", "token": "t"}, {"kubeconfig": Path("k"), "authorization_mode": "RBAC"}, [],
         ["kubectl --kubeconfig k get namespaces"]),
        ({"ca": b"x"}, {"kubeconfig": Path("k")}, [], ["kubectl --kubeconfig k get namespaces"]),
        ({}, {"bind_address": "0.0.0.0"}, [], ["kubectl --server http://x get namespaces", "warning: all requests to this address are allowed"]),
        ({}, {"bind_address": "0.0.0.0", "authorization_mode": "RBAC"}, [], ["kubectl --server http://x get namespaces"]),
        ({}, {"bind_address": "localhost"}, [], ["kubectl --server http://x get namespaces"]),
        ({}, {"bind_address": "::1"}, [], ["kubectl --server http://x get namespaces"]),
        ({}, {}, ["job"], ["kubectl --server http://x get namespaces",
                           "no nodes: pods stay Pending; --nodes 2 simulates two nodes, with a scheduler and kubelets"]),
        ({}, {}, ["job", "kubelet"], ["kubectl --server http://x get namespaces"]),
    ],
)  # fmt: skip
def test_the_greeting(found, options, controllers, lines):
    said = cli._greeting(Found(**found), Options(**options), controllers)
    assert said == [
        "fakekube serves the Kubernetes API v1.36.2 at http://x",
        *(f"  {line}" for line in lines),
        "  press Ctrl-C to stop",
    ]


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
def test_what_is_said_of_a_token_file(tmp_path, readable, mode):
    path = tmp_path / "tokens"
    path.write_text("")
    path.chmod(0o604 if readable else 0o600)
    said = cli._greeting(Found(token="x"), Options(token_auth_file=path, authorization_mode=mode), [])[2:-1]
    assert said == [
        "  warning: requests without a token are allowed, too; --authorization-mode RBAC checks access"
        if mode == "AlwaysAllow" else "  requests without a token are those of system:anonymous",
        *([f"  warning: {path} is readable by every user of this machine (chmod 600 {path})"] if readable else []),
    ]  # fmt: skip
    path.unlink()
    assert len(cli._token_file_warnings(path, mode)) == 1


# --- commands


def once(path, then):
    """Calls a function in a thread when a file exists."""

    def wait():
        for _ in range(5_000_000):
            if path.exists():
                break
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal(tmp_path, number):
    path, seen = tmp_path / "config", []

    def ask_and_end():
        url = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"]
        with urlopen(f"{url}/version", timeout=10) as answer:
            seen.append(json.load(answer)["minor"])
        os.kill(os.getpid(), number)

    thread = once(path, ask_and_end)
    code, output = invoked("serve", "--port", "0", "--kubeconfig", path, "--kubernetes-version", "1.31", "-v")
    thread.join()
    assert (code, seen) == (0, ["31"])
    [line] = [line for line in output.splitlines() if " get /version " in line]
    assert re.fullmatch(r"\S+Z Python-urllib/\S+ get /version - 200 \d+\.\dms", line)
    lines = output.splitlines()
    assert lines[0] == f"ready {lines[1].rpartition(' at ')[2]}"
    assert lines[1].startswith("fakekube serves the Kubernetes API v1.31.0+fakekube at http://127.0.0.1:")
    assert lines[-1] == "stopping"


def test_what_cannot_be_served_is_an_error(tmp_path):
    code, output = invoked("serve", "--port", "0", "--manifests", tmp_path / "none")
    assert (code, output.strip()) == (1, f"Error: --manifests {tmp_path / 'none'}: no such file or directory")


def test_a_command_finds_its_server_and_ends_it(tmp_path):
    (tmp_path / "a.yaml").write_text(MANIFEST)
    code = (
        "import json, os, sys, urllib.request as r; u = os.environ['FAKEKUBE_URL']; open(os.environ['KUBECONFIG']).close();"
        "n = json.load(r.urlopen(u + '/api/v1/namespaces/default/configmaps'))['items']; sys.exit(40 + len(n))"
    )
    assert invoked("run", "--manifests", tmp_path, "--", sys.executable, "-S", "-c", code) == (41, "")


#: A client that writes an object again without a change.
CARELESS = """
import json, os, urllib.request as r
u = os.environ["FAKEKUBE_URL"] + "/api/v1/namespaces/default/configmaps"
def send(method, url, body):
    r.urlopen(r.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)).close()
send("POST", u, {"metadata": {"name": "a"}, "data": {"x": "1"}})
send("PUT", u + "/a", {"metadata": {"name": "a"}, "data": {"x": "1"}})
"""


@pytest.mark.parametrize(("mode", "status"), [("warn", 0), ("error", 1), ("off", 0)])
def test_run_reports_what_clients_did(tmp_path, mode, status):
    files = {name: tmp_path / name for name in ("junit.xml", "page.html", "role.yaml")}
    code, output = invoked(
        "run", "--findings", mode, "--junit", files["junit.xml"], "--timeline", files["page.html"],
        "--rbac-report", f"system:anonymous={files['role.yaml']}", "--", sys.executable, "-S", "-c", CARELESS,
    )  # fmt: skip
    assert code == status
    said = "[noop-write] Python-urllib/" in output
    assert said == (mode != "off")
    assert ("noop-write" in files["junit.xml"].read_text()) == (mode != "off")
    assert "create configmaps default/a" in files["page.html"].read_text()
    [role] = yaml.safe_load_all(files["role.yaml"].read_text())
    assert role["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "update"]}]


def test_a_report_that_cannot_be_written_is_an_error_of_the_command_line():
    code, output = invoked("run", "--rbac-report", "alice", "--", "true")
    assert (code, output) == (1, "Error: --rbac-report alice: pass USER=FILE (example: alice=alice.yaml)\n")


def test_a_command_that_does_not_exist():
    code, output = invoked("run", "--", "/no/such/command")
    assert (code, output) == (127, "fakekube run: /no/such/command: command not found\n")


def test_controllers_without_nodes_have_a_hint(tmp_path):
    path = tmp_path / "config"
    thread = once(path, lambda: os.kill(os.getpid(), signal.SIGTERM))
    code, output = invoked("serve", "--port", "0", "--kubeconfig", path, "--controllers", "job")
    thread.join()
    assert code == 0
    assert "no nodes: pods stay Pending" in output


# --- the table of settings


def test_each_setting_has_a_text_and_most_are_portable():
    assert set(SETTINGS) == set(ClusterSettings.__dataclass_fields__)
    for name, setting in SETTINGS.items():
        assert text_of(name) == setting.metadata["text"] != ""
    by = {
        kind: sorted(name for name, one in SETTINGS.items() if one.metadata["ini"] == kind)
        for kind in ("string", "bool", "args")
    }
    assert by == {
        "string": ["nodes", "seed", "version"],
        "bool": ["rbac", "real_connections"],
        "args": ["controllers", "detect"],
    }
    assert sorted(name for name, one in SETTINGS.items() if not one.metadata["portable"]) == [
        "authorization_mode", "controllers", "disable_admission_plugins", "enable_admission_plugins", "feature_gates",
        "nodes", "service_cluster_ip_range", "version",
    ]  # fmt: skip
    flags = {option for parameter in cli.serve.params for option in parameter.opts}
    assert {one.metadata["flag"] for one in SETTINGS.values()} - {""} <= flags


def test_the_defaults_of_a_cluster():
    found = ClusterSettings()
    assert {name: getattr(found, name) for name in SETTINGS} == {
        "seed": 0, "version": None, "controllers": (), "nodes": None, "rbac": False, "stepped": None, "wall_clock": True,
        "transport": "direct", "detect": None, "history_window": 20_000, "patience": 30.0, "service_cluster_ip_range": "10.0.0.0/12",
        "authorization_mode": None, "enable_admission_plugins": (), "disable_admission_plugins": (), "feature_gates": None,
        "real_connections": False,
    }  # fmt: skip
    with pytest.raises(TypeError):
        ClusterSettings(3)
    assert marker_signature(a=1, b="x").endswith(", real_connections=False, a=1, b='x'")


def test_a_class_is_called_with_the_arguments_of_its_value():
    class Made:
        @built_from(ClusterSettings)
        def __init__(self, settings):
            """The text."""
            self.settings = settings

    assert Made(seed=7, rbac=True).settings == ClusterSettings(seed=7, rbac=True)
    assert Made.__init__.__doc__ == "The text."
    assert list(signature(Made).parameters) == list(SETTINGS)
    with pytest.raises(TypeError, match=r"Made\(\) has no argument alpha, zone \(accepted: seed, version, "):
        Made(zone=1, seed=2, alpha=3)


def test_options_are_listed_in_the_order_of_their_definition():
    def command():
        pass

    decorated = commandoptions.server_options(command)
    names = [one.name for one in reversed(decorated.__click_params__)]
    assert names[-2:] == ["history_window", "kubernetes_version"]
    assert names == [one.name for one in cli.serve.params][-len(names) :]


def test_a_setting_is_a_field_with_its_text_and_where_it_can_be_set():
    found = _setting(3, "What it means.", ini="string", portable=True)
    assert (found.default, dict(found.metadata)) == (
        3,
        {"text": "What it means.", "ini": "string", "flag": "", "portable": True},
    )
    assert dict(_setting(3, "x", flag="--x").metadata) == {
        "text": "x", "ini": "", "flag": "--x", "portable": False,
    }  # fmt: skip


@pytest.mark.parametrize(("chosen", "passed"), [((), ("*",)), (("deployment",), ("deployment",))], ids=["all", "one"])
@pytest.mark.parametrize("end", ["a signal", "by itself", "an error"])
def test_controllers_run_until_a_signal_or_until_they_end(monkeypatch, capsys, chosen, passed, end):
    calls, stop = [], asyncio.Event()

    async def against(*given):
        calls.append(given)
        if end == "an error":
            raise LookupError("no cluster")
        if end == "a signal":
            stop.set()
            try:
                await asyncio.Event().wait()
            finally:
                calls.append("cancelled")

    monkeypatch.setattr("fakekube.controllers.realtime.against", against)
    monkeypatch.setattr(cli, "_stop_signals", lambda: stop)
    work = cli._controllers(Path("file"), chosen, 2, ())
    if end == "an error":
        with pytest.raises(LookupError, match="no cluster"):
            asyncio.run(work)
    else:
        asyncio.run(work)
    assert calls == [(Path("file"), passed, 2, ()), *(["cancelled"] if end == "a signal" else [])]
    assert capsys.readouterr().out == "running controllers against file; press Ctrl-C to stop\n"


def test_each_command_is_listed_and_has_its_help():
    code, output = invoked("--help")
    listed = re.findall(r"^  ([a-z]+) ", output.partition("Commands:")[2], re.M)
    assert (code, sorted(listed)) == (0, sorted(cli.main.commands))
    assert {"serve", "run", "explore", "controllers", "lint", "snapshot"} <= set(listed)
    for name in listed:
        assert invoked(name, "--help")[0] == 0


def test_each_option_with_a_default_shows_it():
    for name, command in cli.main.commands.items():
        context = click.Context(command, info_name=name)
        for option in command.params:
            if (
                isinstance(option, click.Option)
                and isinstance(option.default, str | int)
                and option.default not in (0, "")
            ):
                _, text = option.get_help_record(context)
                assert isinstance(option.default, bool) or f"default: {option.default}" in text, option.opts


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3, 3), (None, 130)])
def test_an_exploration_of_a_process_ends_with_its_status_or_is_interrupted(monkeypatch, status, code):
    """Its server is on this machine alone, and has the control API, which the exploration needs."""
    servers, stop = [], asyncio.Event()

    async def explore(explored, arguments, found):
        servers.append((explored.start, found.steering is not None, found.options.bind_address))
        if status is None:
            stop.set()
            await asyncio.Event().wait()
        return status

    monkeypatch.setattr("fakekube.processexploration.explorecommand.explore", explore)
    monkeypatch.setattr(cli, "_stop_signals", lambda: stop)
    assert invoked("explore", "--start", "./operator")[0] == code
    assert servers == [("./operator", True, "127.0.0.1")]
