"""There is one way for a write and one place that chooses an endpoint: who may do what by itself."""

import re
from functools import cache
from pathlib import Path

import pytest

import fakekube

ROOT = Path(fakekube.__file__).parent

#: What is reserved -> the modules that may do it.
RESERVED = {
    r"\bresource\.custom\b|\.custom\b(?!\.)": {"apiserver/apiserver.py"},
    r"\bstore\.(create|update|delete)\(": {
        "apiserver/commit.py",
        "apiserver/apiserver.py",  # what exists when a server starts
        "apiserver/crd/definitioncontrollers.py",  # a controller, which writes as kube-apiserver's does
        "apiserver/endpoints/unchecked.py",  # a test, which writes as to etcd
        "control/statefile.py",  # a restored state, and one that was kept
        "server/persistence/datarecovery.py",
    },
    r"\bquota\.charge\(": {"apiserver/admission/chain.py"},
    r"\badmission\.(mutate|validate|delete|connect)\w*\(": {"apiserver/endpoints/write.py"},
    r"\bstrategy\.\w+ is (not )?\w*no_|name_check in\b|is not no_": set(),
    r"\byield from \(\)": set(),
}


@pytest.mark.parametrize("pattern", RESERVED)
def test_only_these_modules_do_it(pattern: str) -> None:
    found = {path for path, code in codes().items() if re.search(pattern, code)}
    assert found == RESERVED[pattern]


@cache
def codes() -> dict[str, str]:
    """The modules by their paths, without comments and imports."""
    return {
        path.relative_to(ROOT).as_posix(): re.sub(r"^\s*(from|import) .*|#.*", "", path.read_text(), flags=re.M)
        for path in ROOT.rglob("*.py")
    }
