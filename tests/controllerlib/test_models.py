"""Models of the official client: written as its serializer does, and read back equal."""

import enum
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes import client

from controllerlib.client.client import Client
from controllerlib.client.models import as_model, as_object, to_json
from controllerlib.client.names import plain_copy
from tests.controllerlib.fakeapi import FakeApi

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def deployment() -> Any:
    ports = [client.V1ContainerPort(container_port=80, host_ip="10.0.0.1")]
    container = client.V1Container(name="web", image="nginx", ports=ports, resources=client.V1ResourceRequirements(
        limits={"cpu": "1"}))  # fmt: skip
    labels = {"app.kubernetes.io/name": "web"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    return client.V1Deployment(
        api_version="apps/v1", kind="Deployment",
        metadata=client.V1ObjectMeta(name="web", namespace="default", creation_timestamp=WHEN, labels=labels),
        spec=client.V1DeploymentSpec(replicas=0, selector=client.V1LabelSelector(match_labels=labels),
                                     template=template, paused=False),
    )  # fmt: skip


def crd_schema() -> Any:
    return client.V1JSONSchemaProps(
        ref="#/x", x_kubernetes_preserve_unknown_fields=True, default={"snake_case": [1]}, _not=None, type="object"
    )


def moments(obj: Any) -> Any:
    """Use the suffix Z, as the official client does."""
    if isinstance(obj, dict):
        return {key: moments(value) for key, value in obj.items()}
    return obj.replace("+00:00", "Z") if isinstance(obj, str) else obj


@pytest.mark.parametrize("model", [deployment(), crd_schema()], ids=["deployment", "schema"])
def test_as_the_official_client_writes_it(model: Any) -> None:
    assert as_object(model) == moments(client.ApiClient().sanitize_for_serialization(model))


def test_round_trip() -> None:
    model = deployment()
    assert as_model(client.V1Deployment, as_object(model)) == model
    assert as_object(as_model(client.V1Deployment, as_object(model))) == as_object(model)


def test_required_fields_of_a_model() -> None:
    with pytest.raises(ValueError):
        as_model(client.V1Container, {"image": "nginx"})
    with pytest.raises(TypeError, match="not a model: int"):
        as_model(int, {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (WHEN, "2026-01-02T03:04:05Z"),
        (WHEN.replace(microsecond=7), "2026-01-02T03:04:05.000007Z"),
        (WHEN.replace(tzinfo=None), "2026-01-02T03:04:05Z"),
        (WHEN.astimezone(timezone(timedelta(hours=2))), "2026-01-02T05:04:05+02:00"),
        (date(2026, 1, 2), "2026-01-02"),
    ],
)
def test_times(value: date, text: str) -> None:
    assert to_json({"creationTimestamp": value, "list": [value]}) == {"creationTimestamp": text, "list": [text]}


def test_micro_times_have_a_fraction() -> None:
    lease = client.V1Lease(
        api_version="coordination.k8s.io/v1", kind="Lease", metadata=client.V1ObjectMeta(name="a"),
        spec=client.V1LeaseSpec(renew_time=WHEN, holder_identity="me"),
    )  # fmt: skip
    assert as_object(lease)["spec"] == {"renewTime": "2026-01-02T03:04:05.000000Z", "holderIdentity": "me"}
    assert to_json({"eventTime": WHEN}) == {"eventTime": "2026-01-02T03:04:05.000000Z"}


class Described:
    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Thing", "at": WHEN}


def test_other_objects() -> None:
    assert as_object(Described()) == {"kind": "Thing", "at": "2026-01-02T03:04:05Z"}
    for value in (7, "text", [1], None, object()):
        with pytest.raises(TypeError):
            as_object(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values))
def test_json_stays_as_it_is_and_is_a_copy(obj: dict[str, Any]) -> None:
    found = as_object(obj)
    assert found == obj
    assert found is not obj


# --- models as the official client had them before they were pydantic's


class V1Part:
    openapi_types = {"host_ip": "str", "since": "datetime"}  # noqa: RUF012  as they are there
    attribute_map = {"host_ip": "hostIP", "since": "since"}  # noqa: RUF012

    def __init__(self, host_ip: str | None = None, since: datetime | None = None) -> None:
        self.host_ip, self.since = host_ip, since


class V1Whole:
    openapi_types = {  # noqa: RUF012
        "parts": "list[V1Part]", "by_name": "dict(str, V1Part)", "size": "int", "anything": "object",
        "labels": "dict(str, str)", "missing": "V1Gone",
    }  # fmt: skip
    attribute_map = {  # noqa: RUF012
        "parts": "parts", "by_name": "byName", "size": "size", "anything": "anything", "labels": "labels",
        "missing": "missing",
    }  # fmt: skip

    def __init__(self, **values: Any) -> None:
        if values["size"] is None:
            raise ValueError("Invalid value for `size`, must not be `None`")
        self.__dict__.update(values)


def test_older_models() -> None:
    obj = {"parts": [{"hostIP": "1.2.3.4", "since": "2026-01-02T03:04:05Z"}], "byName": {"a": {"hostIP": "::1"}},
           "size": 3, "anything": {"snake_case": 1}, "labels": {"a": "b"}}  # fmt: skip
    whole: Any = as_model(V1Whole, obj)
    assert [whole.parts[0].host_ip, whole.parts[0].since, whole.by_name["a"].host_ip] == ["1.2.3.4", WHEN, "::1"]
    assert as_object(whole) == obj
    with pytest.raises(ValueError):
        as_model(V1Whole, {})
    with pytest.raises(TypeError, match="no model V1Gone in the package of V1Whole"):
        as_model(V1Whole, {"size": 1, "missing": {}})


# --- with a client


async def test_writing_and_reading_models() -> None:
    reader = Client(FakeApi())
    made = as_model(client.V1Deployment, await reader.create(deployment()))
    made.spec.replicas = 3
    await reader.update(made)
    assert (await reader.get("apps/v1", "Deployment", "web", "default"))["spec"]["replicas"] == 3
    await reader.patch(made, {"metadata": {"labels": {"a": "b"}}})
    found = as_model(client.V1Deployment, await reader.get("apps/v1", "Deployment", "web", "default"))
    assert [found.metadata.labels["a"], found.metadata.name] == ["b", "web"]
    await reader.delete(found)
    assert await reader.list("apps/v1", "Deployment") == []


class Nameless:
    openapi_types = {"a": "str"}  # noqa: RUF012


class Typeless:
    attribute_map = {"a": "a"}  # noqa: RUF012


@pytest.mark.parametrize("model", [int, Nameless, Typeless])
def test_a_model_has_names_and_types(model: Any) -> None:
    with pytest.raises(TypeError, match=f"^not a model: {model.__name__}$"):
        as_model(model, {"a": "b"})


def test_a_tuple_is_no_object_and_the_error_says_where_it_may_come_from() -> None:
    with pytest.raises(TypeError, match=r"obj, changed = add_finalizer\(obj, ...\)"):
        as_object(({}, True))
    with pytest.raises(TypeError, match=r"^not a Kubernetes object: list$"):
        as_object([])
    with pytest.raises(TypeError, match=r"^cannot be written as JSON: object$"):
        as_object({"a": object()})


class _Mapping(dict[str, Any]):
    pass


class _Text(str):
    pass


class _Phase(enum.Enum):
    READY = "Ready"


PLAIN = [
    {},
    {"a": {"b": [1, "x", {"c": None}], "d": True}, "e": 1.5},
    {"a": float("inf"), "b": 2**70, "c": "\ud800"},
    _Mapping(a=_Mapping(b="x")),
]


@pytest.mark.parametrize("value", PLAIN)
def test_a_copy_of_plain_values_is_what_they_are_converted_to(value: dict[str, Any]) -> None:
    found = plain_copy(value)
    assert found == as_object(value)
    assert type(found) is dict


def test_a_plain_copy_shares_texts_and_no_maps_or_lists() -> None:
    text = "-".join(["a", "text"])
    value: dict[str, Any] = {"a": [{"b": text}]}
    found = plain_copy(value)
    assert found is not None
    assert found["a"] is not value["a"]
    assert found["a"][0] is not value["a"][0]
    assert found["a"][0]["b"] is text


@pytest.mark.parametrize(
    "value",
    [
        {1: "x"},
        {"a": {1: "x"}},
        {"a": datetime(2026, 1, 2, tzinfo=UTC)},
        {"a": date(2026, 1, 2)},
        {"a": [uuid.UUID(int=1)]},
        {"a": b"x"},
        {"a": {"x"}},
        {"a": _Phase.READY},
        {"a": _Text("x")},
        {"a": object()},
        {"a": MappingProxyType({"b": 1})},
    ],
)
def test_other_values_are_left_to_the_conversion(value: dict[Any, Any]) -> None:
    assert plain_copy(value) is None
