"""What a bubble notes about itself: the moments from which on its runs are not all alike."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing, at a virtual moment."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at.isoformat()} {self.text}"
