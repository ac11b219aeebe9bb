"""Small schemas with all types of fields."""

from fakekube.apiserver.schema.model import Schema

TEXT = Schema("string")
NUMBER = Schema("int32")
LABELS = Schema("map", values=TEXT)
PORT = Schema(
    "object",
    make_fields=lambda: {
        "port": NUMBER,
        "protocol": Schema("string", default="TCP"),
        "name": TEXT,
        "tags": Schema("list", items=TEXT, list_type="set"),
    },
)
SPEC = Schema(
    "object",
    make_fields=lambda: {
        "size": NUMBER,
        "on": Schema("boolean"),
        "amount": Schema("quantity"),
        "labels": LABELS,
        "selector": Schema("map", values=TEXT, map_type="atomic"),
        "args": Schema("list", items=TEXT),
        "tags": Schema("list", items=TEXT, list_type="set"),
        "ports": Schema("list", items=PORT, list_type="map", keys=("port", "protocol")),
        "free": Schema("any"),
    },
)
ROOT = Schema(
    "object", make_fields=lambda: {"metadata": Schema("object", make_fields=lambda: {"labels": LABELS}), "spec": SPEC}
)
