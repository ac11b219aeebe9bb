"""Validation of definitions: names, versions, subresources, columns, selectable fields and conversion."""

from copy import deepcopy
from typing import Any

import pytest

from tests.apiserver.api import CRDS, Api, definition

Object = dict[str, Any]

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "color": {"type": "string"},
                "o": {"type": "object", "properties": {"x": {"type": "string"}}},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}
VERSION: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
    " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def widgets(changes: Object) -> Object:
    """A valid definition with `changes`: new values by path; None removes a field."""
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    made: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [VERSION]},
    }
    for path, value in changes.items():
        *above, last = path.split(".")
        node = made
        for step in above:
            node = node[step]
        if value is None:
            del node[last]
        else:
            node[last] = value
    return made


#: Changes of a valid definition, with the fields and messages of their errors.
REFUSED: list[Any] = [
    pytest.param(
        {"spec.group": None},
        [
            ("metadata.name", 'Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group'),
            ("spec.group", "Required value"),
        ],
        id="group missing",
    ),
    pytest.param(
        {"spec.group": "Ex ample", "metadata.name": "widgets.Ex ample"},
        [
            ("metadata.name", 'Invalid value: "widgets.Ex ample": ' + SUBDOMAIN),
            ("spec.group", 'Invalid value: "Ex ample": ' + SUBDOMAIN),
        ],
        id="group bad",
    ),
    pytest.param(
        {"spec.group": "example", "metadata.name": "widgets.example"},
        [("spec.group", 'Invalid value: "example": should be a domain with at least one dot')],
        id="group no dot",
    ),
    pytest.param(
        {"spec.group": "x.k8s.io", "metadata.name": "widgets.x.k8s.io"},
        [
            (
                "metadata.annotations[api-approved.kubernetes.io]",
                'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
            )
        ],
        id="k8s.io unapproved",
    ),
    pytest.param(
        {"metadata.name": "things.example.com"},
        [("metadata.name", 'Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group')],
        id="name mismatch",
    ),
    pytest.param({"spec.scope": None}, [("spec.scope", "Required value")], id="scope missing"),
    pytest.param(
        {"spec.scope": "Global"},
        [("spec.scope", 'Unsupported value: "Global": supported values: "Cluster", "Namespaced"')],
        id="scope bad",
    ),
    pytest.param(
        {"spec.names": {}},
        [
            ("metadata.name", 'Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group'),
            ("spec.names.plural", "Required value"),
            ("spec.names.singular", "Required value"),
            ("spec.names.kind", "Required value"),
            ("spec.names.listKind", "Required value"),
        ],
        id="names empty",
    ),
    pytest.param(
        {
            "spec.names": {
                "plural": "Wid gets",
                "singular": "wid get",
                "kind": "wid get",
                "listKind": "x y",
                "shortNames": ["A b", "ok"],
                "categories": ["A"],
            },
            "metadata.name": "x",
        },
        [
            ("metadata.name", 'Invalid value: "x": must be spec.names.plural+"."+spec.group'),
            ("spec.names.plural", 'Invalid value: "Wid gets": ' + LABEL),
            ("spec.names.singular", 'Invalid value: "wid get": ' + LABEL),
            ("spec.names.kind", 'Invalid value: "wid get": may have mixed case, but should otherwise match: ' + LABEL),
            ("spec.names.listKind", 'Invalid value: "x y": may have mixed case, but should otherwise match: ' + LABEL),
            ("spec.names.shortNames[0]", 'Invalid value: "A b": ' + LABEL),
            ("spec.names.categories[0]", 'Invalid value: "A": ' + LABEL),
        ],
        id="names bad",
    ),
    pytest.param(
        {"spec.names": {"plural": "widgets", "kind": "Widget", "listKind": "Widget", "singular": "widget"}},
        [("spec.names.listKind", 'Invalid value: "Widget": kind and listKind may not be the same')],
        id="kind==listKind",
    ),
    pytest.param(
        {"spec.versions": []},
        [
            ("spec.versions", "Invalid value: null: must have exactly one version marked as storage version"),
            ("status.storedVersions", "Invalid value: null: must have at least one stored version"),
        ],
        id="no versions",
    ),
    pytest.param(
        {"metadata.generateName": "w-"},
        [("metadata.generateName", 'Invalid value: "w-": must be spec.names.plural+"."+spec.group')],
        id="generateName",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"deprecated": True, "deprecationWarning": "\x01"}]},
        [
            (
                "spec.versions[0].deprecationWarning",
                'Invalid value: "\\u0001": must only contain printable UTF-8 characters; non-printable character found at '
                "index 0",
            )
        ],
        id="deprecation control character",
    ),
    pytest.param(
        {"spec.versions": [VERSION, VERSION | {"storage": False}]},
        [
            (
                "spec.versions",
                'Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must contain unique version names',
            )
        ],
        id="dup versions",
    ),
    pytest.param(
        {"spec.versions": [VERSION, VERSION | {"name": "v2"}]},
        [
            (
                "spec.versions",
                'Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v2","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
            ),
            ("status.storedVersions", 'Invalid value: ["v1"]: must have the storage version v2'),
        ],
        id="two storage",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"storage": False}]},
        [
            (
                "spec.versions",
                'Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
            ),
            ("status.storedVersions", "Invalid value: null: must have at least one stored version"),
        ],
        id="none storage",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"name": "V 1"}]},
        [
            ("spec.versions[0].name", 'Invalid value: "V 1": ' + LABEL),
            ("spec.version", 'Invalid value: "V 1": ' + LABEL),
        ],
        id="bad version name",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"deprecated": True, "deprecationWarning": "x" * 257}]},
        [("spec.versions[0].deprecationWarning", f'Invalid value: "{"x" * 257}": must be <= 256 characters long')],
        id="a-warning-of-257-bytes",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"deprecationWarning": "x"}]},
        [("spec.versions[0].deprecationWarning", 'Invalid value: "x": can only be set for deprecated versions')],
        id="deprecation no",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"deprecated": True, "deprecationWarning": ""}]},
        [("spec.versions[0].deprecationWarning", 'Invalid value: "": must not be an empty string')],
        id="deprecation empty",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"deprecated": True, "deprecationWarning": "a\n" + "x" * 300}]},
        [
            (
                "spec.versions[0].deprecationWarning",
                'Invalid value: "a\\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be <= 256 characters long',
            ),
            (
                "spec.versions[0].deprecationWarning",
                'Invalid value: "a\\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must only contain printable UTF-8 characters; non-printable character found at index 1',
            ),
        ],
        id="deprecation long/newline",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"subresources": {"scale": {}}}]},
        [
            ("spec.subresources.scale.specReplicasPath", "Required value"),
            ("spec.subresources.scale.statusReplicasPath", "Required value"),
        ],
        id="scale missing",
    ),
    pytest.param(
        {
            "spec.versions": [
                VERSION
                | {
                    "subresources": {
                        "scale": {
                            "specReplicasPath": "spec.replicas",
                            "statusReplicasPath": ".spec.replicas",
                            "labelSelectorPath": ".foo",
                        }
                    }
                }
            ]
        },
        [
            (
                "spec.subresources.scale.specReplicasPath",
                'Invalid value: "spec.replicas": must be a simple json path starting with .',
            ),
            (
                "spec.subresources.scale.statusReplicasPath",
                'Invalid value: ".spec.replicas": should be a json path under .status',
            ),
            (
                "spec.subresources.scale.labelSelectorPath",
                'Invalid value: ".foo": should be a json path under either .spec or .status',
            ),
        ],
        id="scale bad",
    ),
    pytest.param(
        {
            "spec.versions": [
                VERSION
                | {
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.a[0]",
                            "statusReplicasPath": ".status",
                            "labelSelectorPath": ".status.x y",
                        },
                    }
                }
            ]
        },
        [
            (
                "spec.subresources.scale.statusReplicasPath",
                'Invalid value: ".status": should be a json path under .status',
            )
        ],
        id="scale bad2",
    ),
    pytest.param(
        {
            "spec.versions": [
                VERSION
                | {
                    "additionalPrinterColumns": [
                        {"name": "", "type": "", "jsonPath": ""},
                        {"name": "a", "type": "text", "jsonPath": ".x", "format": "foo"},
                        {"name": "b", "type": "string", "jsonPath": "{.x", "priority": -1},
                        {"name": "b", "type": "string", "jsonPath": "$.x[?(@.y]"},
                    ]
                }
            ]
        },
        [
            ("spec.additionalPrinterColumns[0].name", "Required value"),
            (
                "spec.additionalPrinterColumns[0].type",
                "Required value: must be one of boolean,date,integer,number,string",
            ),
            ("spec.additionalPrinterColumns[0].JSONPath", "Required value"),
            (
                "spec.additionalPrinterColumns[1].type",
                'Invalid value: "text": must be one of boolean,date,integer,number,string',
            ),
            (
                "spec.additionalPrinterColumns[1].format",
                'Invalid value: "foo": must be one of byte,date,date-time,double,float,int32,int64,password',
            ),
            (
                "spec.additionalPrinterColumns[2].JSONPath",
                'Invalid value: "{.x": must be a simple json path starting with .',
            ),
            (
                "spec.additionalPrinterColumns[3].JSONPath",
                'Invalid value: "$.x[?(@.y]": must be a simple json path starting with .',
            ),
        ],
        id="columns",
    ),
    pytest.param(
        {
            "spec.versions": [
                VERSION
                | {
                    "selectableFields": [
                        {"jsonPath": ".spec.nope"},
                        {"jsonPath": ".spec.o"},
                        {"jsonPath": ".spec.color"},
                        {"jsonPath": ".spec.color"},
                        {"jsonPath": "spec.color"},
                        {"jsonPath": ""},
                        {"jsonPath": ".metadata.name"},
                        {"jsonPath": ".spec.a[0]"},
                    ]
                }
            ]
        },
        [
            (
                "spec.selectableFields[0].jsonPath",
                'Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field',
            ),
            (
                "spec.selectableFields[1].jsonPath",
                'Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
            ),
            ("spec.selectableFields[3].jsonPath", 'Duplicate value: ".spec.color"'),
            (
                "spec.selectableFields[4].jsonPath",
                'Invalid value: "spec.color": is an invalid path: expected [ or . but got: spec',
            ),
            ("spec.selectableFields[5].jsonPath", "Required value"),
            (
                "spec.selectableFields[6].jsonPath",
                'Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
            ),
            (
                "spec.selectableFields[7].jsonPath",
                'Invalid value: ".spec.a[0]": is an invalid path: does not refer to a valid field',
            ),
        ],
        id="selectable",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"selectableFields": [{"jsonPath": ".spec.color"}] * 9}]},
        [
            ("spec.selectableFields[1].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[2].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[3].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[4].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[5].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[6].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[7].jsonPath", 'Duplicate value: ".spec.color"'),
            ("spec.selectableFields[8].jsonPath", 'Duplicate value: ".spec.color"'),
        ],
        id="selectable 9",
    ),
    pytest.param(
        {"spec.conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
        [
            (
                "spec.conversion.conversionReviewVersions",
                "Forbidden: should not be set when strategy is not set to Webhook",
            )
        ],
        id="conversion none+webhook",
    ),
    pytest.param(
        {"spec.conversion": {"strategy": "X"}},
        [("spec.conversion.strategy", 'Unsupported value: "X": supported values: "None", "Webhook"')],
        id="conversion bad",
    ),
    pytest.param(
        {"spec.conversion": {"strategy": "Webhook"}},
        [
            ("spec.conversion.webhookClientConfig", "Required value: required when strategy is set to Webhook"),
            ("spec.conversion.conversionReviewVersions", "Required value"),
        ],
        id="conversion webhook empty",
    ),
    pytest.param(
        {
            "spec.conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v2", "v2", "V X"],
                    "clientConfig": {"url": "http://a", "service": {"name": "x", "namespace": "y"}},
                },
            }
        },
        [
            ("spec.conversion.webhookClientConfig", "Required value: exactly one of url or service is required"),
            ("spec.conversion.conversionReviewVersions[1]", 'Invalid value: "v2": duplicate version'),
            ("spec.conversion.conversionReviewVersions[2]", 'Invalid value: "V X": ' + LABEL),
            (
                "spec.conversion.conversionReviewVersions",
                'Invalid value: ["v2","v2","V X"]: must include at least one of v1, v1beta1',
            ),
        ],
        id="conversion webhook2",
    ),
    pytest.param(
        {"spec.preserveUnknownFields": True},
        [
            (
                "spec.preserveUnknownFields",
                "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
            )
        ],
        id="preserve",
    ),
    pytest.param(
        {"spec.versions": [{"served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        [("spec.versions[0].name", 'Invalid value: "": ' + LABEL)],
        id="versions missing name",
    ),
]

MALFORMED: list[Any] = [
    pytest.param(
        {"spec.versions": [VERSION | {"served": "yes"}]},
        'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal string into Go struct field CustomResourceDefinitionVersion.spec.versions.served of type bool',
        id="bad types",
    ),
    pytest.param(
        {"spec.versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": "x"}}]},
        'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal string into Go struct field CustomResourceValidation.spec.versions.schema.openAPIV3Schema of type v1.JSONSchemaProps',
        id="schema not object",
    ),
    pytest.param(
        {
            "spec.versions": [
                VERSION
                | {
                    "schema": {
                        "openAPIV3Schema": {
                            "type": 1,
                            "properties": {"a": {"type": "array", "items": {"type": [], "format": 1}}},
                        }
                    }
                }
            ]
        },
        'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items.type of type string',
        id="an error of a type with its own decoder, after another one",
    ),
    pytest.param(
        {"spec.versions": [VERSION | {"schema": {"openAPIV3Schema": {"x-kubernetes-validations": [[]]}}}]},
        'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.x-kubernetes-validations of type v1.ValidationRule',
        id="an item of a named type of lists",
    ),
    pytest.param(
        {"kind": "Foo"},
        'Foo in version "v1" cannot be handled as a CustomResourceDefinition: no kind "Foo" is registered for version "apiextensions.k8s.io/v1" in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"',
        id="another kind",
    ),
]


def causes(status: Object) -> list[tuple[str, str]]:
    return [(one["field"], one["message"]) for one in status["details"]["causes"]]


@pytest.mark.parametrize(("changes", "expected"), REFUSED)
def test_invalid_definitions(api: Api, changes: Object, expected: list[tuple[str, str]]) -> None:
    code, status = api.call("POST", CRDS, widgets(changes))
    assert code == 422
    assert causes(status) == expected


@pytest.mark.parametrize(("changes", "message"), MALFORMED)
def test_malformed_definitions(api: Api, changes: Object, message: str) -> None:
    assert api.refused("POST", CRDS, widgets(changes)) == (400, "BadRequest", message)


ROOT = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems"
    " MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]"
)


@pytest.mark.parametrize("has_status", [False, True])
@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"description": "d", "title": "t", "required": ["spec"], "x-kubernetes-preserve-unknown-fields": True}, True),
        ({"x-kubernetes-validations": [{"rule": "true"}], "example": {"a": 1}, "externalDocs": {"url": "u"}}, True),
        ({"allOf": [], "enum": [], "nullable": False, "additionalProperties": None, "minProperties": None}, True),
        ({"minProperties": 1}, False),
        ({"maxProperties": 5}, False),
        ({"allOf": [{"required": ["spec"]}]}, False),
        ({"not": {"required": ["other"]}}, False),
        ({"x-kubernetes-embedded-resource": True}, False),
    ],
)
def test_the_schema_of_a_kind_with_a_status_has_few_fields_at_its_root(
    api: Api, changes: Object, fits: bool, has_status: bool
) -> None:
    """So that the schema of the status says all of it (`allowedFieldsAtRootSchema`)."""
    version = {**VERSION, "schema": {"openAPIV3Schema": {**SCHEMA, **changes}}}
    code, found = api.call(
        "POST",
        CRDS,
        widgets({"spec.versions": [{**version, **({"subresources": {"status": {}}} if has_status else {})}]}),
    )
    causes = [(one["field"], one["message"]) for one in (found.get("details") or {}).get("causes") or ()]
    why = f"only {ROOT} fields are allowed at the root of the schema if the status subresource is enabled"
    fields = [field for field, message in causes if message.endswith(why)]
    assert fields == ([] if fits or not has_status else ["spec.validation.openAPIV3Schema"])
    assert (code == 201) is (not causes)


def test_the_root_of_a_kind_with_a_status_is_an_object(api: Api) -> None:
    version = {"schema": {"openAPIV3Schema": {"type": "array", "items": {"type": "string"}, "minProperties": 1}}}
    _, found = api.call(
        "POST", CRDS, widgets({"spec.versions": [{**VERSION, **version, "subresources": {"status": {}}}]})
    )
    assert (
        "spec.validation.openAPIV3Schema.type",
        'Invalid value: "array": only "object" is allowed as the type at the root of the schema if the status subresource'
        " is enabled",
    ) in [(one["field"], one["message"]) for one in found["details"]["causes"]]
    assert not [one for one in found["details"]["causes"] if one["message"].startswith("only [")]


def test_a_valid_definition_is_served_immediately(api: Api) -> None:
    made = api.ok("POST", CRDS, widgets({}))
    stored = api.ok("GET", f"{CRDS}/widgets.example.com")
    assert stored["metadata"]["uid"] == made["metadata"]["uid"]
    shown = {one["type"]: (one["status"], one["reason"]) for one in stored["status"]["conditions"]}
    assert shown == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    assert stored["status"]["acceptedNames"] == stored["spec"]["names"]
    assert stored["status"]["storedVersions"] == ["v1"]
    assert api.ok("GET", "/apis/example.com/v1/widgets")["kind"] == "WidgetList"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"spec.scope": "Cluster"}, "spec.scope"),
        (
            {"spec.names": {"plural": "widgets", "kind": "Gadget", "singular": "widget", "listKind": "L"}},
            "spec.names.kind",
        ),
    ],
)
def test_immutable_fields_of_an_established_definition(api: Api, changes: Object, field: str) -> None:
    api.ok("POST", CRDS, widgets({}))
    current = api.ok("GET", f"{CRDS}/widgets.example.com")
    new = widgets(changes)
    new["metadata"] = current["metadata"]
    code, status = api.call("PUT", f"{CRDS}/widgets.example.com", new)
    assert code == 422
    assert [(where, message.endswith("field is immutable")) for where, message in causes(status)] == [(field, True)]


def test_a_stored_version_cannot_be_removed_before_its_removal_from_the_status(api: Api) -> None:
    api.ok("POST", CRDS, widgets({}))
    path = f"{CRDS}/widgets.example.com"
    second = VERSION | {"name": "v2"}
    current = deepcopy(api.ok("GET", path))
    current["spec"]["versions"] = [VERSION | {"storage": False}, second]
    current = deepcopy(api.ok("PUT", path, current))
    assert current["status"]["storedVersions"] == ["v1", "v2"]
    current["spec"]["versions"] = [second]
    code, status = api.call("PUT", path, current)
    assert (code, [where for where, _ in causes(status)]) == (422, ["status.storedVersions[0]"])
    current = deepcopy(api.ok("GET", path))
    current["status"]["storedVersions"] = ["v2"]
    current = deepcopy(api.ok("PUT", f"{path}/status", current))
    current["spec"]["versions"] = [second]
    assert api.ok("PUT", path, current)["status"]["storedVersions"] == ["v2"]


@pytest.mark.parametrize(
    ("annotation", "status", "reason", "message"),
    [
        ("https://github.com/x/y/pull/1", "True", "ApprovedAnnotation", "approved in https://github.com/x/y/pull/1"),
        ("unapproved, a test", "False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"'),
    ],
)
def test_groups_of_the_community_require_approval(
    api: Api, annotation: str, status: str, reason: str, message: str
) -> None:
    body = widgets({"spec.group": "x.k8s.io", "metadata.name": "widgets.x.k8s.io"})
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}
    api.ok("POST", CRDS, body)
    found = api.ok("GET", f"{CRDS}/widgets.x.k8s.io")["status"]["conditions"]
    (one,) = [one for one in found if one["type"] == "KubernetesAPIApprovalPolicyConformant"]
    assert (one["status"], one["reason"], one["message"]) == (status, reason, message)


def test_a_changed_approval_is_seen_at_once(api: Api) -> None:
    body = widgets({"spec.group": "x.k8s.io", "metadata.name": "widgets.x.k8s.io"})
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/x/y/pull/1"}
    api.ok("POST", CRDS, body)
    for annotation, status in [("unapproved, a test", "False"), ("https://github.com/x/y/pull/2", "True")]:
        patch = {"metadata": {"annotations": {"api-approved.kubernetes.io": annotation}}}
        api.ok("PATCH", f"{CRDS}/widgets.x.k8s.io", patch, content_type="application/merge-patch+json")
        found = api.ok("GET", f"{CRDS}/widgets.x.k8s.io")["status"]["conditions"]
        (one,) = [one for one in found if one["type"] == "KubernetesAPIApprovalPolicyConformant"]
        assert one["status"] == status


def test_a_conversion_webhook_that_is_a_service_has_a_port(api: Api) -> None:
    client = {"service": {"namespace": "default", "name": "converter"}}
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    made = api.ok("POST", CRDS, widgets({"spec.conversion": conversion}))
    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_an_empty_reason_is_not_supported(api: Api) -> None:
    rules = [{"rule": "true", "reason": ""}]
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": rules}}}
    changes = {"spec.versions": [VERSION | {"schema": {"openAPIV3Schema": schema}}]}
    code, status = api.call("POST", CRDS, widgets(changes))
    assert (code, [field.rpartition(".")[2] for field, _ in causes(status)]) == (422, ["reason"])


@pytest.mark.parametrize("keyword", [{"externalDocs": {}}, {"minItems": 0}, {"x-kubernetes-map-type": "atomic"}])
def test_metadata_has_no_keywords_that_are_zero(api: Api, keyword: Object) -> None:
    schema = {"type": "object", "properties": {"metadata": {"type": "object", **keyword}}}
    code, status = api.call(
        "POST", CRDS, widgets({"spec.versions": [VERSION | {"schema": {"openAPIV3Schema": schema}}]})
    )
    assert code == 422
    assert "but metadata is implicitly specified" in status["message"]


def test_sets_of_maps_cause_no_warning(api: Api) -> None:
    items = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}}
    listed = {"type": "array", "x-kubernetes-list-type": "set", "items": items}
    schema = {"type": "object", "properties": {"l": listed, "f": {"type": "string", "format": "nope"}}}
    found = api.answer("POST", CRDS, widgets({"spec.versions": [VERSION | {"schema": {"openAPIV3Schema": schema}}]}))
    assert (found.status, found.warnings) == (201, ['unrecognized format "nope"'])


def test_an_established_definition_needs_a_valid_ca_bundle(api: Api) -> None:
    """A create accepts any caBundle, an update an invalid one only if the present one is invalid."""
    client = {"url": "https://a.example.com", "caBundle": "bm8="}
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    current = api.ok("POST", CRDS, widgets({}))
    path = f"{CRDS}/{current['metadata']['name']}"
    current = api.ok("GET", path)
    code, status = api.call("PUT", path, {**current, "spec": {**current["spec"], "conversion": webhook}})
    why = "unable to load root certificates: unable to parse bytes as PEM block"
    assert (code, causes(status)) == (
        422,
        [("spec.conversion.webhookClientConfig.caBundle", f'Invalid value: "bm8=": {why}')],
    )
    api.ok("DELETE", path)
    current = api.ok("POST", CRDS, widgets({"spec.conversion": webhook}))
    labelled = {**current, "metadata": {**current["metadata"], "labels": {"a": "b"}, "resourceVersion": ""}}
    assert api.ok("PUT", path, {**labelled, "metadata": {**labelled["metadata"], **_version(api, path)}})


def _version(api: Api, path: str) -> Object:
    return {"resourceVersion": api.ok("GET", path)["metadata"]["resourceVersion"]}


@pytest.mark.parametrize("warning", ["x", "x" * 256, "ä" * 128])
def test_warnings_of_deprecated_versions(api, warning):
    version = {**VERSION, "deprecated": True, "deprecationWarning": warning}
    api.ok("POST", CRDS, definition(versions=[version]))
