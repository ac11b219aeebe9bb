"""The rooms and the doors between them: import contracts, held as a test."""

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports


def test_imports_keep_to_the_contracts(capsys):
    status = lint_imports()
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
