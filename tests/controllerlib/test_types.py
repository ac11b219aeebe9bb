"""What a user's own `mypy --strict` says of programs that use controllerlib."""

from pathlib import Path

from mypy import api

import controllerlib

USER = Path(__file__).with_name("typed_user.py")


def test_a_users_program_is_typed(tmp_path: Path) -> None:
    """`type: ignore` marks what must be refused; one that is not needed is an error, too (warn_unused_ignores)."""
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nwarn_unreachable = True\n[mypy-kubernetes.*]\nfollow_imports = skip\n")
    options = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    said, problems, status = api.run([*options, str(USER)])
    assert [said.splitlines(), problems, status] == [["Success: no issues found in 1 source file"], "", 0]


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(controllerlib.__file__).parent / "py.typed").exists()
    assert sorted(controllerlib.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)) == (
        controllerlib.__all__
    )
    missing = [name for name in controllerlib.__all__ if not hasattr(controllerlib, name)]
    assert missing == []
