"""Small records: `msgspec.Struct`, which makes a class and an instance much faster than `dataclasses` does.

    class Finding(Struct, frozen=True):
        name: str
        lines: list[str] = field(default_factory=list)

Options are `frozen`, `order`, `eq` and `kw_only`, as those of a dataclass. Nothing else in this
package imports msgspec.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

T = TypeVar("T")

if TYPE_CHECKING:
    # Without the metaclass of msgspec, which pyright takes for unknown when it looks how completely a library is typed.
    def field(*, default_factory: Callable[[], T]) -> T:
        """A field with a default that is made for each instance."""

    @dataclass_transform(field_specifiers=(field,))
    class Struct:
        """A record with the fields of its annotations."""

        __struct_fields__: tuple[str, ...]

        def __init_subclass__(
            cls, *, frozen: bool = False, order: bool = False, eq: bool = True, kw_only: bool = False
        ) -> None: ...

    def replace(record: T, /, **changes: Any) -> T:
        """A copy of a record with other values of some fields."""

else:
    from msgspec import Struct, field
    from msgspec.structs import replace

__all__ = ["Struct", "field", "replace"]
