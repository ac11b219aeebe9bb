"""The hash of a template with what a competing writer has set is compared as that of the reference."""

from dataclasses import replace

from fakekube.simulation.atoms import MARK
from fakekube.simulation.observation import Observation
from fakekube.simulation.oracles.templatehashes import with_usual_hashes
from tests.simulation.observations import commit, obj


def replica_set(owner, digest, **annotations):
    made = obj("ReplicaSet", f"{owner}-{digest}", spec={"template": {"metadata": {"annotations": annotations}}})
    made["metadata"] |= {"labels": {"pod-template-hash": digest}, "ownerReferences": [{"name": owner}]}
    return commit(2, "create", f"rs/{owner}-{digest}", after=made)


def pod(name, digest):
    return {
        "metadata": {"name": name, "labels": {"pod-template-hash": digest}},
        "status": {"messages": [f"of {digest}", 1]},
    }


REFERENCE = Observation(0, commits=[replica_set("web", "7b49"), replica_set("api", "6666")])


def test_names_labels_and_texts_have_the_usual_hash():
    run = Observation(
        0,
        commits=[
            replica_set("web", "54fc", **{MARK: "1"}),
            replica_set("api", "5555"),
            replica_set("db", "4444", **{MARK: "1"}),
        ],
        final={"pod/web-54fc-*~1": pod("web-54fc-x", "54fc"), "pod/api-5555-*~1": pod("api-5555-x", "5555")},
    )
    found = with_usual_hashes(REFERENCE, run)
    assert [one.anchor.target for one in found.commits] == ["rs/web-7b49", "rs/api-5555", "rs/db-4444"]
    assert found.final == {
        "pod/web-7b49-*~1": pod("web-7b49-x", "7b49"),
        "pod/api-5555-*~1": pod("api-5555-x", "5555"),
    }


def test_other_runs_stay():
    run = Observation(
        0, commits=[replica_set("web", "54fc"), replace(replica_set("web", "x", **{MARK: "1"}), kind="deploy")]
    )
    assert with_usual_hashes(REFERENCE, run) is run
