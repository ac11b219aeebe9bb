"""No cluster survives the test, or the module, that it was opened in."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fakekube.virtualtime import Bubble


def claim(node: pytest.Item | pytest.Collector) -> None:
    """Note for which node the open cluster was opened."""
    for bubble in _open_bubbles():
        if bubble.opened_by is None:
            bubble.opened_by = node


def _open_bubbles() -> list[Bubble]:
    module = sys.modules.get("fakekube.virtualtime.bubble")
    return module.opened() if module is not None else []


def refuse_survivors(item: pytest.Item) -> None:
    """Close clusters of other nodes than those of this test. Raises RuntimeError naming them."""
    chain = item.listchain()
    left = [bubble for bubble in _open_bubbles() if bubble.opened_by is not None and bubble.opened_by not in chain]
    names = [getattr(bubble.opened_by, "nodeid", "") for bubble in left]
    _abandon(left)
    if left:
        raise RuntimeError(
            f"the cluster of {', '.join(names)} was still open, and was closed now: use the fixture `fakekube`, or "
            "`with FakeKube() as fakekube`"
        )


def close_survivors(item: pytest.Item) -> str:
    """Close the cluster that this test has opened and not closed; returns what to say of it."""
    left = [bubble for bubble in _open_bubbles() if bubble.opened_by is item]
    _abandon(left)
    if not left:
        return ""
    return (
        f"{item.nodeid} left its cluster open, and it was closed now: use the fixture `fakekube`, or "
        "`with FakeKube() as fakekube`"
    )


def _abandon(bubbles: list[Bubble]) -> None:
    for bubble in bubbles:
        with suppress(Exception):
            bubble.abandon()
