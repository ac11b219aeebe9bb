"""Entries of a bubble's trace, which records what makes a run not deterministic."""

from datetime import datetime

from fakekube.struct import Struct


class Note(Struct, frozen=True):
    """A remark at a virtual moment."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at.isoformat()} {self.text}"
