"""Construction of named tuples without the cost of their `__new__`.

`new_tuple(Delta, ("Added", obj))` equals `Delta("Added", obj)` and takes about half the time: it skips the Python
function that `typing.NamedTuple` generates. It is used only where one tuple is created per watch event or work item.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class _New(Protocol):
    def __call__(self, cls: type[T], values: Iterable[Any], /) -> T: ...


new_tuple: _New = tuple.__new__  # type: ignore[assignment]
