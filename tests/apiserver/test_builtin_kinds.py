"""The registry of built-in kinds: every resource has its entry, and a module in a group's package is one."""

import re
from pathlib import Path

import fakekube.apiserver.registry.core as core
from fakekube.apiserver.registry.builtin import GROUPS, KINDS, PARTS, STRATEGIES, kinds_of
from fakekube.apiserver.registry.generic.strategy import DEFAULT
from fakekube.server import bootstrap

#: Resources that are not stored, so that no rules apply to them.
REVIEWS = {
    "bindings",
    "localsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectreviews.authentication.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io",
    "subjectaccessreviews.authorization.k8s.io",
    "tokenreviews.authentication.k8s.io",
}
#: Its rules depend on the schemas of the server (`definition_strategy`).
DEFINITIONS = {"customresourcedefinitions.apiextensions.k8s.io"}

#: Kinds with a table of their own and the rules of most kinds.
DEFAULT_RULES = {"componentstatuses"}


def served():
    versions = bootstrap.known_versions()
    return {resource.qualified for version in versions for resource in bootstrap._resources(version)}


def test_every_resource_of_discovery_has_an_entry():
    assert served() - {kind.resource for kind in KINDS} == REVIEWS | DEFINITIONS


def test_kinds_without_rules_of_their_own_are_known():
    assert {kind.resource for kind in KINDS if kind.strategy is DEFAULT} == DEFAULT_RULES


def test_no_resource_has_two_entries():
    resources = [kind.resource for kind in KINDS]
    assert sorted(set(resources)) == sorted(resources)
    assert set(resources) < set(STRATEGIES)
    assert "horizontalpodautoscalers.autoscaling/v1" in STRATEGIES


def test_a_part_belongs_to_a_subresource_that_is_served():
    subresources = {
        (resource.qualified, subresource)
        for version in bootstrap.known_versions()
        for resource in bootstrap._resources(version)
        for subresource in resource.subresources
    }
    assert set(PARTS) <= subresources


def test_all_group_packages_are_listed():
    root = Path(core.__file__).parent.parent
    packages = {path.parent.name for path in root.glob("*/__init__.py")}
    assert packages - set(GROUPS) == {"apiextensions", "custom", "generic"}


def test_a_module_in_a_group_s_package_is_found(tmp_path, monkeypatch):
    """A folder with a module `strategy` is found, too; a module without a kind is not one."""
    (tmp_path / "gadget.py").write_text(
        "from fakekube.apiserver.registry.generic.kind import Kind\nKIND = Kind('gadgets')\n"
    )
    (tmp_path / "gizmo").mkdir()
    (tmp_path / "gizmo" / "__init__.py").touch()
    (tmp_path / "gizmo" / "strategy.py").write_text((tmp_path / "gadget.py").read_text().replace("gadget", "gizmo"))
    (tmp_path / "shared.py").write_text("LIMIT = 1\n")
    monkeypatch.setattr(core, "__path__", [str(tmp_path)])
    assert [kind.resource for kind in kinds_of("core")] == ["gadgets", "gizmos"]


def test_a_kind_s_module_is_named_after_it():
    """`storageclasses.storage.k8s.io` is in `storage/storageclass`: a kind is found in one guess."""
    root = Path(core.__file__).parent.parent
    modules = {
        path.parent.name if path.name == "strategy.py" else path.stem
        for path in root.glob("*/**/*.py")
        if re.search(r"^KIND = ", path.read_text(), re.M)
    }
    singular = {
        resource.plural: resource.kind.lower()
        for v in bootstrap.known_versions()
        for resource in bootstrap._resources(v)
    }
    missing = {
        kind.resource for kind in KINDS if singular.get(kind.resource.partition(".")[0], "") not in modules | {""}
    }
    assert missing == set()
