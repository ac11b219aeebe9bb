"""Validates the rules in definitions: they must compile, and their estimated cost is limited
(`apiextensions/validation/cel_validation.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.cel.sizes import HUGE
from fakekube.apiserver.crd.compilation import CompiledRule, compile_rule, declare_self
from fakekube.apiserver.crd.decltypes import REQUEST_LIMIT
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.internaltype import shown_rule
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid
from fakekube.struct import Struct, field

Node = Mapping[str, Any]

#: The limits of the estimated cost of one rule, and of all rules of a schema.
RULE_LIMIT, TOTAL_LIMIT = 10_000_000, 100_000_000

_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


class TotalCost(Struct):
    """The estimated cost of all rules of a schema, and the most expensive rules."""

    cost: int = 0
    most_expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        self.cost = min(self.cost + cost, HUGE)
        if cost >= TOTAL_LIMIT // 100:
            self.most_expensive = sorted([*self.most_expensive, (cost, path)], key=lambda one: -one[0])[:4]


class RuleCompiler(Struct):
    """Compiles the rules of the nodes of a definition, once for equal nodes: versions often have the same rules."""

    _compiled: dict[tuple[bool, bytes], tuple[int, list[CompiledRule]]] = field(default_factory=dict)

    def compiled(self, node: Node, *, root: bool) -> tuple[int, list[CompiledRule]] | None:
        """The smallest size of a value in a request, and the rules; None if the type of `self` cannot be declared."""
        text = codec.compact(node)
        found = self._compiled.get((root, text)) if text is not None else None
        if found is not None:
            return found
        schema = Structural(node)
        declared = declare_self(schema, root=root)
        if declared is None:
            return None
        found = declared.smallest, [compile_rule(rule, schema, declared) for rule in node["x-kubernetes-validations"]]
        if text is not None:
            self._compiled[root, text] = found
        return found


class CELSchemaContext(Struct, frozen=True):
    """A node of a schema, and how often its values can occur (None: as often as a request allows)."""

    schema: Node
    cardinality: int | None
    total: TotalCost
    compiler: RuleCompiler
    is_root: bool = False

    @classmethod
    def root(cls, schema: Node, compiler: RuleCompiler) -> CELSchemaContext:
        return cls(schema, 1, TotalCost(), compiler, is_root=True)

    def child(self, schema: Node, kind: str, name: str = "") -> CELSchemaContext:
        """The context of a child node; `kind` is `property`, `items` or `additional`."""
        times = _elements(self.schema)
        if self.cardinality is None or times is None:
            return CELSchemaContext(schema, None, self.total, self.compiler)
        return CELSchemaContext(schema, min(self.cardinality * times, HUGE), self.total, self.compiler)

    def rule_errors(self, path: str, uncorrelatable: str, *, costs: bool) -> list[FieldError]:
        """The errors of the rules of this node. `uncorrelatable`: the ancestor that cannot be correlated, if any."""
        compiled = self.compiler.compiled(self.schema, root=self.is_root)
        if compiled is None:
            what = "unable to convert structural schema to CEL declarations"
            why = f"internal error: failed to construct type information for x-kubernetes-validations rules: {what}"
            here = f"{path}.x-kubernetes-validations"
            return [FieldError(here, "InternalError", f"Internal error: {why}")]
        errors: list[FieldError] = []
        smallest, rules = compiled
        largest = REQUEST_LIMIT // (smallest + 1)
        for i, rule in enumerate(rules):
            here = f"{path}.x-kubernetes-validations[{i}]"
            errors += self._errors(rule, here, largest, uncorrelatable, costs)
        return errors

    def _errors(
        self, found: CompiledRule, path: str, largest: int, uncorrelatable: str, costs: bool
    ) -> list[FieldError]:
        errors: list[FieldError] = []
        times = self.cardinality if self.cardinality is not None else largest
        cost = min(found.cost * times, HUGE)
        if costs and cost > RULE_LIMIT:
            errors.append(field_forbidden(f"{path}.rule", over_budget("estimated rule cost", cost, RULE_LIMIT)))
        self.total.add(f"{path}.rule", cost)
        shown = shown_rule(found.rule)
        if found.problem:
            errors.append(_invalid(f"{path}.rule", shown, found.problem))
        if found.message_problem:
            errors.append(_invalid(f"{path}.messageExpression", shown, found.message_problem))
        elif found.message is not None:
            here, most = f"{path}.messageExpression", found.message_cost
            if costs and most > RULE_LIMIT:
                errors.append(field_forbidden(here, over_budget("estimated messageExpression cost", most, RULE_LIMIT)))
            self.total.add(here, most)
        if found.uses_old and uncorrelatable:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
            errors.append(field_invalid(f"{path}.rule", found.rule["rule"], why))
        elif not found.uses_old and found.rule.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            errors.append(field_invalid(f"{path}.optionalOldSelf", found.rule["optionalOldSelf"], why))
        return errors

    def total_errors(self, path: str) -> list[FieldError]:
        """The errors if all rules together exceed the limit."""
        if self.total.cost <= TOTAL_LIMIT:
            return []
        why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [field_forbidden(path_of_rule, why) for _, path_of_rule in self.total.most_expensive]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, field_forbidden(path, over_budget(name, self.total.cost, TOTAL_LIMIT))]


def _elements(schema: Node) -> int | None:
    """How often children of a node can occur in one of its values; None: unlimited."""
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    elif kind == "array":
        most = schema.get("maxItems")
    else:
        return 1
    return None if most is None else max(most, 0)


def _invalid(path: str, shown: str, why: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: {why}")


def over_budget(name: str, cost: int, limit: int) -> str:
    """The message for a cost over its limit."""
    times = cost / limit
    factor = "more than 100x" if times > 100 else f"{times:f}x" if times < 1.5 else f"{times:.1f}x"
    return f"{name} exceeds budget by factor of {factor} {_ADVICE}"
