from __future__ import annotations

from typing import Any

from fakekube.core.status import FieldError


class SchemaContext:
    @classmethod
    def root(cls, schema: Any) -> SchemaContext:
        return cls()

    def child(self, schema: Any, kind: str, name: str = "") -> SchemaContext:
        return self

    def rule_errors(self, path: str, uncorrelatable: str, *, costs: bool) -> list[FieldError]:
        return []

    def total_errors(self, path: str) -> list[FieldError]:
        return []
