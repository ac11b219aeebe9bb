"""The documentation of the query parameters in OpenAPI documents."""

from importlib.metadata import version

import pytest

from fakekube.apiserver.openapi.parameters import OPTIONS, Parameter, _snake, of_options, pretty


@pytest.mark.parametrize("options", OPTIONS)
def test_every_parameter_is_described(options):
    found = of_options(options)
    assert [one.name for one in found] == list(OPTIONS[options])
    undescribed = {"ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector"}
    if version("lightkube-models") < "1.32":
        undescribed.add("stream")  # of logs, new in Kubernetes 1.32
    assert [one.name for one in found if not one.description and one.name not in undescribed] == []


@pytest.mark.parametrize(
    ("options", "name", "begin"),
    [
        ("ListOptions", "labelSelector", "A selector to restrict the list of returned objects by their labels."),
        ("ListOptions", "timeoutSeconds", "Timeout for the list/watch call."),
        ("DeleteOptions", "gracePeriodSeconds", "The duration in seconds before the object should be deleted."),
        ("PatchOptions", "force", 'Force is going to "force" Apply requests.'),
        ("CreateOptions", "fieldManager", "fieldManager is a name associated with the actor or entity"),
        ("PodLogOptions", "tailLines", "If set, the number of lines from the end of the logs to show."),
        ("PodExecOptions", "command", "Command is the remote command to execute. argv array."),
        ("PodPortForwardOptions", "ports", "List of ports to forward"),
        ("ServiceProxyOptions", "path", "Path is the part of URLs that include service endpoints"),
    ],
)
def test_descriptions(options, name, begin):
    found = {one.name: one.description for one in of_options(options)}
    assert found[name].startswith(begin)
    assert "  # noqa" not in found[name]
    assert '\\"' not in found[name]


def test_the_description_of_pretty():
    assert pretty().description.startswith("If 'true', then the output is pretty printed.")


def test_descriptions_of_lists_have_paragraphs():
    found = {one.name: one.description for one in of_options("ListOptions")}
    assert "\n\n" in found["resourceVersionMatch"]
    assert not any(line.endswith(" ") for one in found.values() for line in one.split("\n"))


#: The lines of descriptions in upstream's document (`api/openapi-spec/swagger.json`), from one of their words on.
LINES = [
    ("resourceVersion", "for details.", ["for details.", "", "Defaults to unset"]),
    ("continue", '"next key".', ['"next key".', "", "This field is not supported when watch is true. Clients"]),
    (
        "sendInitialEvents",
        "following:",
        [
            "following: - `resourceVersionMatch` = NotOlderThan",
            '  is interpreted as "data at least as new as the provided `resourceVersion`"',
            "  and the bookmark event is send when the state is synced",
            "  to a `resourceVersion` at least as fresh as the one provided by the ListOptions.",
            '  If `resourceVersion` is unset, this is interpreted as "consistent read" and the',
            "  bookmark event is send when the state is synced at least to the moment",
            "  when request started being processed.",
            "- `resourceVersionMatch` set to any other value or unset",
            "  Invalid error is returned.",
            "",
            'Defaults to true if `resourceVersion=""`',
        ],
    ),
    ("sendInitialEvents", '"Bookmark"', ['"Bookmark" event  will be sent. The bookmark']),
    (
        "shardSelector",
        "hash ranges:",
        ["hash ranges:", "", "  shardRange(object.metadata.uid, '0x0', '0x8000000000000000')", "  shardRange("],
    ),
    (
        "shardSelector",
        "paths:",
        ["paths:", "  - object.metadata.uid", "  - object.metadata.namespace", "", "hexStart and hexEnd"],
    ),
    (
        "shardSelector",
        "Examples:",
        ["Examples:", "  2-shard split:", "    shard 0: shardRange(object.metadata.uid, '0x0000000000000000',"],
    ),
]


@pytest.mark.parametrize(("name", "since", "lines"), LINES)
def test_the_lines_of_descriptions(name, since, lines):
    found = {one.name: one.description for one in of_options("ListOptions")}[name]
    if not found:
        pytest.skip("the client library does not document it")
    assert found[found.index(since) :].startswith("\n".join(lines))


@pytest.mark.parametrize(
    ("field", "snake"), [("dryRun", "dry_run"), ("insecureSkipTLSVerifyBackend", "insecure_skip_tls_verify_backend")]
)
def test_the_python_name_of_a_field(field, snake):
    assert _snake(field) == snake


@pytest.mark.parametrize(
    ("place", "version", "keys"),
    [
        ("query", 2, ["uniqueItems", "type", "description", "name", "in"]),
        ("path", 2, ["uniqueItems", "type", "description", "name", "in", "required"]),
        ("query", 3, ["name", "in", "description", "schema"]),
        ("path", 3, ["name", "in", "description", "required", "schema"]),
    ],
)
def test_the_order_of_a_parameter_s_keys(place, version, keys):
    """Shared parameters are named by a hash of their JSON."""
    assert list(Parameter("a", place, "string", "d").written(version)) == keys
    bare = Parameter("a", place, "string").written(version)
    assert list(bare) == [key for key in keys if key != "description"]
    assert (bare.get("schema") or bare)["uniqueItems"] is True
    assert bare.get("required", True) is True
