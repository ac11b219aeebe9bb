"""Manifests are read in the order of their paths, and applied in an order in which each finds what it needs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.server import manifests

KINDS = ["Namespace", "CustomResourceDefinition", "ConfigMap", "Pod", "Widget", ""]


@given(kinds=st.lists(st.sampled_from(KINDS), max_size=9))
def test_namespaces_then_definitions_then_the_rest_as_given(kinds):
    objects = [{"kind": kind, "number": number} for number, kind in enumerate(kinds)]
    found = manifests.ordered(objects)
    ranks = [{"Namespace": 0, "CustomResourceDefinition": 1}.get(one["kind"], 2) for one in found]
    assert ranks == sorted(ranks)
    for rank in range(3):
        numbers = [one["number"] for one, its in zip(found, ranks, strict=True) if its == rank]
        assert numbers == sorted(numbers)
    assert sorted(one["number"] for one in found) == list(range(len(kinds)))


def test_the_files_of_a_directory_are_read_in_the_order_of_their_paths(tmp_path):
    for name in ("b.yaml", "a.yml", "c/a.json", "c.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"kind": "X", "apiVersion": "v1", "metadata": {"name": name}}))
    (tmp_path / "notes.txt").write_text("no manifest")
    names = [one["metadata"]["name"] for one in manifests.read(tmp_path)]
    assert names == ["a.yml", "b.yaml", "c/a.json", "c.yaml"]


@pytest.mark.parametrize("name", ["notes.txt", ""])
def test_a_directory_without_manifests_is_an_error(tmp_path, name):
    if name:
        (tmp_path / name).write_text("no manifest")
    with pytest.raises(manifests.ManifestError, match="no manifests in this directory"):
        manifests.read(tmp_path)
