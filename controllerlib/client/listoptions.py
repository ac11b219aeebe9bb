"""Options of lists and watches."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of a list or watch; unset values are not sent (apimachinery: metav1.ListOptions)."""

    resource_version: str = ""
    resource_version_match: str = ""
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None

    def query(self) -> Sequence[tuple[str, str]]:
        """Return the query parameters."""
        pairs = [
            ("resourceVersion", self.resource_version),
            ("resourceVersionMatch", self.resource_version_match),
            ("labelSelector", self.label_selector),
            ("fieldSelector", self.field_selector),
            ("limit", str(self.limit) if self.limit else ""),
            ("continue", self.continue_token),
            ("timeoutSeconds", "" if self.timeout_seconds is None else str(self.timeout_seconds)),
            ("allowWatchBookmarks", "true" if self.allow_watch_bookmarks else ""),
            ("sendInitialEvents", "" if self.send_initial_events is None else str(self.send_initial_events).lower()),
        ]
        return [(name, value) for name, value in pairs if value]
