"""The parameters of operations: the fields of the options of a request, and the variables of its path.

The descriptions are those that the client library `kubernetes` documents, read on first use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fakekube.apiserver.resource import Object
from fakekube.struct import Struct

STRING, INTEGER, BOOLEAN = "string", "integer", "boolean"


class Parameter(Struct, frozen=True):
    """A parameter in the query or in the path, with its JSON type."""

    name: str
    place: str
    type: str
    description: str = ""

    def written(self, version: int) -> Object:
        """The parameter for a version of OpenAPI. Its keys have the order of kube-openapi, on which names depend."""
        if version == 2:
            found: Object = {"uniqueItems": True, "type": self.type, "description": self.description}
            found |= {"name": self.name, "in": self.place}
        else:
            found = {"name": self.name, "in": self.place, "description": self.description}
        if not self.description:
            del found["description"]
        if self.place == "path":
            found["required"] = True
        if version == 3:
            found["schema"] = {"type": self.type, "uniqueItems": True}
        return found


def in_path(name: str, description: str) -> Parameter:
    return Parameter(name, "path", STRING, description)


_WRITE = {"dryRun": STRING, "fieldManager": STRING, "fieldValidation": STRING}

_LIST = {
    "allowWatchBookmarks": BOOLEAN, "continue": STRING, "fieldSelector": STRING, "labelSelector": STRING,
    "limit": INTEGER, "resourceVersion": STRING, "resourceVersionMatch": STRING, "sendInitialEvents": BOOLEAN,
    "shardSelector": STRING, "timeoutSeconds": INTEGER, "watch": BOOLEAN,
}  # fmt: skip

_ATTACH = {"container": STRING, "stderr": BOOLEAN, "stdin": BOOLEAN, "stdout": BOOLEAN, "tty": BOOLEAN}

#: The options of a request -> the types of their fields. (apimachinery `meta/v1`, `core/v1`: structs of options)
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "": {},
    "GetOptions": {"resourceVersion": STRING},
    "ListOptions": _LIST,
    "DeletionListOptions": {name: _LIST[name] for name in _LIST if name not in ("allowWatchBookmarks", "watch")},
    "CreateOptions": _WRITE,
    "UpdateOptions": _WRITE,
    "PatchOptions": {**_WRITE, "force": BOOLEAN},
    "DeleteOptions": {
        "dryRun": STRING, "gracePeriodSeconds": INTEGER, "ignoreStoreReadErrorWithClusterBreakingPotential": BOOLEAN,
        "orphanDependents": BOOLEAN, "propagationPolicy": STRING,
    },
    "PodLogOptions": {
        "container": STRING, "follow": BOOLEAN, "insecureSkipTLSVerifyBackend": BOOLEAN, "limitBytes": INTEGER,
        "previous": BOOLEAN, "sinceSeconds": INTEGER, "stream": STRING, "tailLines": INTEGER, "timestamps": BOOLEAN,
    },
    "PodExecOptions": {**_ATTACH, "command": STRING},
    "PodAttachOptions": _ATTACH,
    "PodPortForwardOptions": {"ports": INTEGER},
    "PodProxyOptions": {"path": STRING},
    "ServiceProxyOptions": {"path": STRING},
    "NodeProxyOptions": {"path": STRING},
}  # fmt: skip

#: The options of a request -> the module of the client library and the method that document them.
_DOCUMENTED: Mapping[str, tuple[str, str]] = {
    "": ("coordination_v1_api", "read_namespaced_lease"),
    "GetOptions": ("coordination_v1_api", "list_namespaced_lease"),
    "ListOptions": ("coordination_v1_api", "list_namespaced_lease"),
    "DeletionListOptions": ("coordination_v1_api", "list_namespaced_lease"),
    "CreateOptions": ("coordination_v1_api", "create_namespaced_lease"),
    "UpdateOptions": ("coordination_v1_api", "replace_namespaced_lease"),
    "PatchOptions": ("coordination_v1_api", "patch_namespaced_lease"),
    "DeleteOptions": ("coordination_v1_api", "delete_namespaced_lease"),
    "PodLogOptions": ("core_v1_api", "read_namespaced_pod_log"),
    "PodExecOptions": ("core_v1_api", "connect_get_namespaced_pod_exec"),
    "PodAttachOptions": ("core_v1_api", "connect_get_namespaced_pod_attach"),
    "PodPortForwardOptions": ("core_v1_api", "connect_get_namespaced_pod_portforward"),
    "PodProxyOptions": ("core_v1_api", "connect_get_namespaced_pod_proxy"),
    "ServiceProxyOptions": ("core_v1_api", "connect_get_namespaced_service_proxy"),
    "NodeProxyOptions": ("core_v1_api", "connect_get_node_proxy"),
}

#: The parameters whose descriptions have several paragraphs; the library writes a line end as a space.
_PARAGRAPHS = frozenset(_LIST)

_DOCUMENTATION = re.compile(r"^ +:param (?:\w+ )?(\w+): (.*?)(?: \(required\))?$", re.MULTILINE)


@cache
def of_options(options: str) -> tuple[Parameter, ...]:
    """The query parameters of the fields of options."""
    words = _documentation(*_DOCUMENTED[options])
    return tuple(Parameter(name, "query", type, words.get(_snake(name), "")) for name, type in OPTIONS[options].items())


@cache
def pretty() -> Parameter:
    words = _documentation(*_DOCUMENTED[""])
    return Parameter("pretty", "query", STRING, words.get("pretty", ""))


@cache
def _documentation(module: str, method: str) -> Mapping[str, str]:
    """The documentation of the parameters of a method of the client library by their Python names."""
    source = _source(module)
    start = source.find('"""', max(source.find(f"def {method}("), 0))
    end = source.find('"""', start + 1)
    found = _DOCUMENTATION.findall(source, start, end) if 0 <= start < end else []
    return {name.lstrip("_"): _text(name.lstrip("_"), text) for name, text in found}


@cache
def _source(module: str) -> str:
    spec = find_spec("kubernetes")  # does not import the library
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "client", "api", f"{module}.py")
        if path.exists():
            return path.read_text(encoding="utf-8")
    return ""


def _text(name: str, text: str) -> str:
    text = text.removesuffix("  # noqa: E501").replace('\\"', '"')
    return _paragraphs(text) if name in {_snake(one) for one in _PARAGRAPHS} else text


def _paragraphs(text: str) -> str:
    """The text with its line ends, which are spaces in the library, alone or before the indentation of a line."""
    for spaces, lines in ((5, "\n    "), (4, "\n\n  "), (3, "\n  ")):
        text = re.sub(rf"(?<=\S) {{{spaces}}}(?=\S)", lines, text)
    text = re.sub(r"(?<=\S)  (?=[A-Z]|hex)", "\n\n", text)
    return re.sub(r"(?<=processed\.) (?=- `)", "\n", text)


def _snake(name: str) -> str:
    """The Python name of a field: `dry_run`."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).lower()
