"""Entries of a bubble's trace, which records what makes a run not deterministic."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Note:
    """A remark at a virtual moment."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at.isoformat()} {self.text}"
