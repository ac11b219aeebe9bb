"""The values at the paths of a scale subresource, and the finalizers that a custom resource had better not have."""

import pytest

from fakekube.apiserver.crd.customversion import WrongType, _finalizer_warnings, nested, replicas_errors

OBJ = {
    "spec": {"replicas": 3, "text": "x", "nothing": None, "list": [1], "flag": True, "deep": {"a": {"b": 5}}},
    "status": "busy",
}


@pytest.mark.parametrize(
    ("path", "kind", "value"),
    [
        (".spec.replicas", int, 3),
        ("spec.replicas", int, 3),
        (".spec.text", str, "x"),
        (".spec.deep.a.b", int, 5),
        (".spec.gone", int, None),
        (".spec.gone.further", int, None),
        (".gone.replicas", int, None),
        (".spec.nothing.further", int, None),
    ],
)
def test_the_value_at_a_path(path, kind, value):
    assert nested(OBJ, path, kind) == value


@pytest.mark.parametrize(
    ("path", "kind", "why"),
    [
        (".spec.text", int, ".spec.text accessor error: x is of the type string, expected int64"),
        (".spec.replicas", str, ".spec.replicas accessor error: 3 is of the type int64, expected string"),
        (".spec.flag", int, ".spec.flag accessor error: true is of the type bool, expected int64"),
        (".spec.nothing", int, ".spec.nothing accessor error: <nil> is of the type <nil>, expected int64"),
        (".status.replicas", int,
         ".status.replicas accessor error: busy is of the type string, expected map[string]interface{}"),
        (".spec.list.a", int, ".spec.list.a accessor error: [1] is of the type []interface {}, expected "
         "map[string]interface{}"),
    ],
)  # fmt: skip
def test_a_value_of_another_type(path, kind, why):
    with pytest.raises(WrongType) as wrong:
        nested(OBJ, path, kind)
    assert str(wrong.value) == why


@pytest.mark.parametrize(
    ("replicas", "why"),
    [
        (None, None),
        (0, None),
        (2**31 - 1, None),
        (-1, "Invalid value: -1: should be a non-negative integer"),
        (2**31, "Invalid value: 2147483648: should be less than or equal to 2147483647"),
        ("3", "Invalid value: 0: .spec.n accessor error: 3 is of the type string, expected int64"),
    ],
)
def test_the_number_of_replicas(replicas, why):
    obj = {"spec": {} if replicas is None else {"n": replicas}}
    found = [(one.field, one.message) for one in replicas_errors(obj, ".spec.n")]
    assert found == ([] if why is None else [(".spec.n", why)])


def finalizers(*names):
    return {"metadata": {"finalizers": list(names)}}


PREFER = "prefer a domain-qualified finalizer name "
AVOID = "to avoid accidental conflicts with other finalizer writers"


@pytest.mark.parametrize(
    ("new", "old", "warnings"),
    [
        (finalizers("example.com/a", "orphan", "foregroundDeletion", "kubernetes"), None, []),
        (finalizers("mine"), None, [f'metadata.finalizers: "mine": {PREFER}{AVOID}']),
        (
            finalizers("example.com"),
            None,
            [f'metadata.finalizers: "example.com": {PREFER}including a path (/) {AVOID}'],
        ),
        (finalizers("b", "a"), None, [f'metadata.finalizers: "{name}": {PREFER}{AVOID}' for name in "ab"]),
        (finalizers("a", "b"), finalizers("a"), [f'metadata.finalizers: "b": {PREFER}{AVOID}']),
        (finalizers("a"), finalizers("a", "b"), []),
        ({"metadata": {}}, {"metadata": {}}, []),
        (finalizers("a"), {}, [f'metadata.finalizers: "a": {PREFER}{AVOID}']),
    ],
)
def test_new_finalizers_have_a_domain(new, old, warnings):
    assert _finalizer_warnings(new, old) == warnings


def test_a_finalizer_with_a_name_that_is_not_valid_has_both_warnings():
    first, second = _finalizer_warnings(finalizers("a b"), None)
    assert first.startswith('metadata.finalizers: "a b": name part must consist of alphanumeric characters')
    assert second == f'metadata.finalizers: "a b": {PREFER}{AVOID}'
    assert len(_finalizer_warnings(finalizers("x.io/a b"), None)) == 1
