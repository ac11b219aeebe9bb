"""Parses and validates ListOptions, DeleteOptions and the options of writes, from queries and bodies (apimachinery
`apis/meta/internalversion/validation`, `apis/meta/v1/validation`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire import integers
from fakekube.apiserver.wire.goduration import parse_duration
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import Query, Request, RequestInfo
from fakekube.apiserver.wire.selectors import FieldSelector, LabelSelector, parse_fields, parse_labels
from fakekube.apiserver.wire.status import (
    FieldError,
    bad_request,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    invalid,
)
from fakekube.struct import Struct, replace

FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
PROPAGATION_POLICIES = ("Foreground", "Background", "Orphan")


class ListOptions(Struct, frozen=True):
    """The options of a list or a watch. `resource_version` "" and `limit` 0 mean that none is requested.

    With `timeout_seconds` None the server chooses the timeout.
    """

    labels: LabelSelector
    fields: FieldSelector
    watch: bool
    bookmarks: bool
    resource_version: str
    resource_version_match: str
    timeout_seconds: int | None
    limit: int
    continue_token: str
    send_initial_events: bool | None


def parse_list_options(request: Request, *, watch: bool, as_list: bool = False) -> ListOptions:
    """Parses the options of a list or a watch. Raises 400 for malformed and 422 for invalid options.

    `as_list`: validates a watch as a list (deprecated `/watch/` paths without the parameter `watch`).
    """
    query = request.query
    timeout, limit = parse_int(query, "timeoutSeconds"), parse_int(query, "limit")
    options = ListOptions(
        labels=parse_labels(_first(query, "labelSelector") or ""),
        fields=parse_fields(_first(query, "fieldSelector") or ""),
        watch=watch,
        bookmarks=parse_bool(query, "allowWatchBookmarks") or False,
        resource_version=_first(query, "resourceVersion") or "",
        resource_version_match=_first(query, "resourceVersionMatch") or "",
        timeout_seconds=timeout,
        limit=max(0, limit or 0),
        continue_token=_first(query, "continue") or "",
        send_initial_events=parse_bool(query, "sendInitialEvents"),
    )
    if watch and not as_list:
        options = _with_defaults(options)
    errors = _watch_errors(options) if watch and not as_list else _list_errors(options)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


def _with_defaults(options: ListOptions) -> ListOptions:
    """A watch from no resourceVersion or from 0 begins with the present objects (`SetListOptionsDefaults`)."""
    if options.send_initial_events is not None or options.resource_version_match or not enabled("WatchList"):
        return options
    if options.resource_version not in ("", "0"):
        return options
    return replace(options, send_initial_events=True, resource_version_match="NotOlderThan")


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            errors.append(_match_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(_match_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(field_not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.append(_match_forbidden(why))
    if options.send_initial_events is not None:
        errors.append(field_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _match_forbidden(why: str) -> FieldError:
    return field_forbidden("resourceVersionMatch", why)


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match, initial = options.resource_version_match, options.send_initial_events
    if initial is not None and match != "NotOlderThan":
        errors.append(_match_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if initial is not None and not enabled("WatchList"):
        why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        errors.append(field_forbidden("sendInitialEvents", why))
    if match:
        if initial is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(_match_forbidden(why))
        if match != "NotOlderThan":
            errors.append(field_not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(_match_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return errors


def _first(query: Query, name: str) -> str | None:
    values = query.get(name)
    return values[0] if values else None


def parse_int(query: Query, name: str) -> int | None:
    """The value of an integer parameter; None if it is missing. Raises 400 if it is not a 64-bit integer."""
    text = _first(query, name)
    if text is None:
        return None
    try:
        return integers.parse_int(text)
    except ValueError as problem:
        raise bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: {problem}") from None


def parse_bool(query: Query, name: str) -> bool | None:
    """Every value except 0 and false is true (`conversion.Convert_Slice_string_To_bool`)."""
    text = _first(query, name)
    if text is None:
        return None
    return text.lower() not in ("0", "false")


def parse_resource_version(text: str) -> int:
    """The revision of a resourceVersion. Raises ValueError with the message of the real server."""
    if text == "":
        return 0
    try:
        return integers.parse_uint(text)
    except ValueError as problem:
        shown = go_quote(text)
        why = f"resourceVersion: Invalid value: {shown}: strconv.ParseUint: parsing {shown}: {problem}"
        raise ValueError(why) from None


class WriteOptions(Struct, frozen=True):
    """The options of create, update and patch: dryRun, fieldManager, fieldValidation and, for an apply, force."""

    dry_run: bool
    field_manager: str
    field_validation: str
    force: bool


def parse_write_options(request: Request, kind: str, *, applying: bool = False) -> WriteOptions:
    """Parses the options of a write. `kind`: CreateOptions, UpdateOptions or PatchOptions. Raises 422."""
    query = request.query
    if not query and not applying:
        return _NO_OPTIONS
    manager = _first(query, "fieldManager") or ""
    force = parse_bool(query, "force")
    errors: list[FieldError] = []
    if applying and not manager:
        errors.append(field_required("fieldManager", "is required for apply patch"))
    if kind == "PatchOptions" and not applying and force is not None:
        errors.append(field_forbidden("force", "may not be specified for non-apply patch"))
    errors += field_manager_errors(manager)
    errors += _dry_run_errors(query.get("dryRun", ()))
    validation = _first(query, "fieldValidation") or ""
    if validation not in FIELD_VALIDATIONS:
        errors.append(field_not_supported("fieldValidation", validation, FIELD_VALIDATIONS))
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)
    return WriteOptions(
        dry_run=bool(query.get("dryRun")),
        field_manager=manager,
        field_validation=validation or "Warn",
        force=force or False,
    )


_NO_OPTIONS = WriteOptions(dry_run=False, field_manager="", field_validation="Warn", force=False)


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if any(value != "All" for value in values):
        return [field_not_supported("dryRun", list(values), ("All",))]
    return []


def field_manager_errors(manager: str, field: str = "fieldManager") -> list[FieldError]:
    """A field manager has at most 128 bytes and only printable characters (`ValidateFieldManager`)."""
    if len(manager.encode(errors="replace")) > 128:
        if not since(32):
            return [FieldError(field, "FieldValueTooLong", "Too long: must have at most 128 bytes")]
        return [field_too_long(field, 128)]
    if manager.isprintable():
        return []
    return [
        field_invalid(field, manager, f"invalid character U+{ord(char):04X} (at position {len(manager[:i].encode())})")
        for i, char in enumerate(manager)
        if not char.isprintable()
    ]


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a delete; None, or "" for `propagation`, if not given."""

    grace_period: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    orphan_dependents: bool | None = None
    dry_run: bool = False

    def to_object(self) -> Object:
        """The options as an object, for webhooks and expressions."""
        shown: Object = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        if self.grace_period is not None:
            shown["gracePeriodSeconds"] = self.grace_period
        if self.propagation:
            shown["propagationPolicy"] = self.propagation
        if self.dry_run:
            shown["dryRun"] = ["All"]
        return shown


#: Verbs and subresources of requests without a deadline (`BasicLongRunningRequestCheck`).
_LONG_RUNNING_VERBS = frozenset({"watch", "proxy"})
_LONG_RUNNING = frozenset({"attach", "exec", "proxy", "log", "portforward"})


def check_timeout(request: Request, info: RequestInfo) -> None:
    """Check the parameter `timeout` of a request that is not long running. Raises 400 (`WithRequestDeadline`)."""
    timeout = request.option("timeout")
    if not timeout or (info.is_resource and (info.verb in _LONG_RUNNING_VERBS or info.subresource in _LONG_RUNNING)):
        return
    try:
        parse_duration(timeout)
    except ValueError as problem:
        raise bad_request(f"invalid timeout specified in the request URL - {problem}") from None


def delete_options(body: Object | None, request: Request) -> DeleteOptions:
    """The options of a body, or of the query if there is no body. Raises 400 and 422."""
    if body is None:
        query = request.query
        raw: Object = {}
        if (grace := parse_int(query, "gracePeriodSeconds")) is not None:
            raw["gracePeriodSeconds"] = grace
        if (orphan := parse_bool(query, "orphanDependents")) is not None:
            raw["orphanDependents"] = orphan
        if (policy := _first(query, "propagationPolicy")) is not None:
            raw["propagationPolicy"] = policy
        if query.get("dryRun"):
            raw["dryRun"] = list(query["dryRun"])
        wanted = {key: value for key in ("uid", "resourceVersion") if (value := _first(query, key))}
        if wanted:
            raw["preconditions"] = wanted
    else:
        raw = body
    dry_run = raw.get("dryRun") or []
    errors = _delete_errors(raw, dry_run)
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)
    preconditions = raw.get("preconditions") or {}
    return DeleteOptions(
        grace_period=raw.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation=raw.get("propagationPolicy") or "",
        orphan_dependents=raw.get("orphanDependents"),
        dry_run=bool(dry_run),
    )


def _delete_errors(raw: Object, dry_run: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = raw.get("propagationPolicy")
    if policy is not None and raw.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(field_invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in PROPAGATION_POLICIES:
        errors.append(field_not_supported("propagationPolicy", policy, (*PROPAGATION_POLICIES, "nil")))
    return errors + _dry_run_errors(dry_run)
