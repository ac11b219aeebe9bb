"""The documentation of the query parameters in OpenAPI documents."""

from importlib.metadata import version

import pytest

from fakekube.apiserver.openapi.parameters import OPTIONS, of_options, pretty


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
