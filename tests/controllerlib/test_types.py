"""What type checkers report for a program that uses controllerlib."""

import sys
from pathlib import Path

import pytest
from mypy import api

import controllerlib

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

USER = Path(__file__).with_name("typed_user.py")
PACKAGES = ("client", "cache", "workqueue", "leaderelection", "record", "controller", "manager", "metrics")


def test_a_users_program_is_typed(tmp_path: Path) -> None:
    """`type: ignore` marks what mypy must reject; an unnecessary one is an error too (warn_unused_ignores)."""
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nwarn_unreachable = True\n[mypy-kubernetes.*]\nfollow_imports = skip\n")
    options = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    output, errors, status = api.run([*options, str(USER)])
    assert [output.splitlines(), errors, status] == [["Success: no issues found in 1 source file"], "", 0]


@pytest.mark.parametrize("package", ["controllerlib", *(f"controllerlib.{package}" for package in PACKAGES)])
def test_all_is_sorted_and_complete(package: str) -> None:
    names = list(sys.modules[package].__all__)
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(sys.modules[package], name)] == []


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(controllerlib.__file__).parent / "py.typed").exists()
