"""The sizes of declared types, from which costs are estimated (`apiserver/pkg/cel/common/schemas.go`)."""

import pytest

from fakekube.apiserver.crd.compilation import declare_self
from fakekube.apiserver.crd.structural import Structural

#: The largest request, in bytes.
LIMIT = 3 * 1024 * 1024
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "kind", "smallest", "largest"),
    [
        ({"x-kubernetes-int-or-string": True}, "dyn", 1, LIMIT - 2),
        ({"x-kubernetes-int-or-string": True, "maxLength": 10}, "dyn", 1, 40),
        ({"x-kubernetes-int-or-string": True, "maxLength": 0}, "dyn", 1, 0),
        (TEXT, "string", 2, LIMIT - 2),
        ({**TEXT, "maxLength": 10}, "string", 2, 40),  # a character has at most four bytes
        ({**TEXT, "maxLength": 0}, "string", 2, 0),
        ({**TEXT, "maxLength": 0, "enum": ["abc"]}, "string", 2, 0),
        ({**TEXT, "enum": ["a", "äöü", "bb"]}, "string", 2, 6),
        ({**TEXT, "format": "byte"}, "bytes", 2, LIMIT - 2),
        ({**TEXT, "format": "byte", "maxLength": 10}, "bytes", 2, 10),
        ({**TEXT, "format": "byte", "maxLength": 0}, "bytes", 2, 0),
        ({**TEXT, "format": "duration"}, "duration", 3, 32),
        ({**TEXT, "format": "date"}, "timestamp", 12, 12),
        ({**TEXT, "format": "date-time"}, "timestamp", 21, 32),
        ({**TEXT, "format": "uuid"}, "string", 2, LIMIT - 2),
        # as many items as fit into a request: for each its smallest size and a comma
        ({"type": "array", "items": TEXT}, "list", 2, (LIMIT - 2) // 3),
        ({"type": "array", "items": TEXT, "maxItems": 7}, "list", 2, 7),
        ({"type": "array", "items": TEXT, "maxItems": 0}, "list", 2, 0),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 7}, "map", 2, 7),
        ({"type": "object", "properties": {"a": TEXT}}, "struct", 2, 0),
        ({"type": "object", "properties": {"a": TEXT}, "required": ["a", "b"]}, "struct", 2 + 1 + 2 + 4, 0),
        ({"type": "object", "properties": {"a": {**TEXT, "default": "x"}}, "required": ["a"]}, "struct", 2, 0),
    ],
)
def test_the_sizes_of_a_declared_type(schema, kind, smallest, largest):
    declared = declare_self(Structural(schema), root=False)
    assert declared is not None
    assert (declared.type.kind, declared.smallest, declared.largest) == (kind, smallest, largest)
