"""`fakekube.apply` on existing objects."""


def test_applying_again_keeps_metadata_that_others_set(fakekube):
    first = fakekube.apply(config_map(labels={"a": "1"}))[0]
    noted = {"finalizers": ["x.example.com/y"], "labels": {"b": "2"}, "annotations": {"c": "3"}}
    fakekube.patch("v1", "ConfigMap", "a", {"metadata": noted})
    again = fakekube.apply(config_map(labels={"a": "4"}, data={"k": "v"}))[0]
    assert again["data"] == {"k": "v"}
    assert again["metadata"]["uid"] == first["metadata"]["uid"]
    assert again["metadata"]["finalizers"] == noted["finalizers"]
    assert again["metadata"]["labels"] == {"a": "4", "b": "2"}
    assert again["metadata"]["annotations"] == noted["annotations"]


def test_given_finalizers_replace_existing_ones(fakekube):
    fakekube.apply(config_map(finalizers=["x.example.com/y"]))
    assert "finalizers" not in fakekube.apply(config_map(finalizers=[]))[0]["metadata"]


def config_map(*, data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": data or {}}
