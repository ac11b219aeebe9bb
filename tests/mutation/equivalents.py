"""Mutants that change nothing that a caller can see, with the reason. They do not count.

They are listed by file, source line and mutation, not by number: an entry stays true when other lines change, and a test
fails when its line is gone.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.mutation.mutants import Mutant

LIST = Path(__file__).with_name("equivalents.toml")


class Equivalent(NamedTuple):
    """One entry of the list."""

    file: str
    text: str
    mutation: str
    reason: str


def load(path: Path = LIST) -> list[Equivalent]:
    """The entries of a list. Raises TypeError if one lacks a field."""
    return [Equivalent(**entry) for entry in tomllib.loads(path.read_text()).get("mutant", [])]


def reason(mutant: Mutant, entries: Iterable[Equivalent]) -> str | None:
    """Why a mutant is equivalent; None if it is not."""
    key = (mutant.file, mutant.text, mutant.mutation)
    return next((entry.reason for entry in entries if entry[:3] == key), None)


def stale(entries: Iterable[Equivalent], found: Iterable[Mutant]) -> list[Equivalent]:
    """The entries that no mutant has."""
    keys = {(mutant.file, mutant.text, mutant.mutation) for mutant in found}
    return [entry for entry in entries if entry[:3] not in keys]
