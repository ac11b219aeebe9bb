"""Readings of the frozen clock print their microseconds, also when they are zero, as on a real machine.

There a reading practically never falls on a whole second, and code that formats one with `isoformat()` always gets a
fraction: the fields of type MicroTime, of Leases and Events, do not accept a time without one. The virtual clock often
stands on a whole second. Times that are parsed from a text with a fraction keep it, too, so that an object which has
been read can be written. Only the text changes: arithmetic and comparisons are exact.
"""

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from fakekube.virtualtime.patches.patch import Swaps

#: The attribute that marks a value as read from the clock, or computed from such a value.
_MARK = "_fakekube_reading"

#: The fields of type MicroTime, as the official client's models name them.
_MICRO_TIMES = ("acquire_time", "event_time", "last_observed_time", "renew_time")


class Readings:
    """Changes freezegun's `FakeDatetime` while time is frozen."""

    def __init__(self) -> None:
        self._swaps = Swaps()
        self._fake: Any = None

    def install(self, fake: Any) -> None:
        self._fake = fake
        for name, replacement in _methods(fake):
            self._swaps.set(fake, name, replacement)
        parser = sys.modules.get("dateutil.parser")  # freezegun imports it
        if parser is not None:
            self._swaps.set(parser.parser, "parse", _parsing(parser.parser.parse))

    def install_client(self, client: Any) -> None:
        """Change an `ApiClient`: pydantic, which parses the times of objects, creates instances of the real class."""
        if hasattr(client, "deserialize") and self._fake is not None:
            self._swaps.set(client, "deserialize", _deserializing(client.deserialize, self._fake))

    def remove(self) -> None:
        self._swaps.restore()


def _methods(fake: Any) -> Iterator[tuple[str, Any]]:
    yield "isoformat", isoformat
    yield "replace", _replace
    for name in ("now", "utcnow", "fromtimestamp"):
        if name in vars(fake):
            yield name, classmethod(_reader(vars(fake)[name].__func__))
    yield "fromisoformat", classmethod(_from_iso_format)
    yield "strptime", classmethod(_strptime)
    for name in ("__add__", "__radd__", "__sub__", "astimezone"):
        yield name, _keeping(getattr(fake, name))
    yield "__copy__", _itself
    yield "__deepcopy__", _itself


def isoformat(moment: Any, sep: str = "T", timespec: str = "auto") -> str:
    """As `datetime.isoformat`; `str()` calls it, too."""
    if timespec == "auto" and not moment.microsecond and _is_reading(moment):
        timespec = "microseconds"
    return datetime.isoformat(moment, sep, timespec)


def _replace(moment: Any, *args: Any, **fields: Any) -> Any:
    changed = datetime.replace(moment, *args, **fields)
    sets_microsecond = "microsecond" in fields or len(args) > 6
    return changed if sets_microsecond or not _is_reading(moment) else _marked(changed)


def _reader(real: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor whose values are readings, unless it gets a whole number of seconds."""

    def read(cls: Any, *args: Any, **options: Any) -> Any:
        moment = real(cls, *args, **options)
        return moment if args and isinstance(args[0], int) else _marked(moment)

    return read


def _from_iso_format(cls: Any, text: str) -> Any:
    moment = super(cls, cls).fromisoformat(text)
    return _marked(moment) if "." in text else moment


def _strptime(cls: Any, text: str, form: str) -> Any:
    moment = super(cls, cls).strptime(text, form)
    return _marked(moment) if "%f" in form else moment


def _parsing(real: Callable[..., Any]) -> Callable[..., Any]:
    """A method that parses a text; times with a fraction keep it."""

    def parse(parser: Any, text: Any, *args: Any, **options: Any) -> Any:
        moment = real(parser, text, *args, **options)
        return _marked(moment) if isinstance(text, str) and "." in text else moment

    return parse


def _deserializing(real: Callable[..., Any], fake: Any) -> Callable[..., Any]:
    def deserialize(client: Any, *args: Any, **options: Any) -> Any:
        found = real(client, *args, **options)
        if "Lease" in type(found).__name__ or "Event" in type(found).__name__:
            for model in getattr(found, "items", None) or (found,):
                for part in (model, getattr(model, "spec", None), getattr(model, "series", None)):
                    _restore(part, fake)
        return found

    return deserialize


def _restore(model: Any, fake: Any) -> None:
    for name in _MICRO_TIMES:
        moment = getattr(model, name, None)
        if type(moment) is datetime and not moment.microsecond:
            setattr(model, name, _marked(fake.combine(moment.date(), moment.timetz())))


def _keeping(real: Callable[..., Any]) -> Callable[..., Any]:
    """An operation whose result, if it is a datetime, is a reading as its operand is."""

    def operate(moment: Any, *args: Any, **options: Any) -> Any:
        result = real(moment, *args, **options)
        return _marked(result) if isinstance(result, datetime) and _is_reading(moment) else result

    return operate


def _itself(moment: Any, _memo: object = None) -> Any:
    """A copy would lose the mark; values of `datetime` do not change."""
    return moment


def _is_reading(moment: Any) -> bool:
    return _MARK in getattr(moment, "__dict__", ())


def _marked(moment: Any) -> Any:
    if hasattr(moment, "__dict__"):
        moment.__dict__[_MARK] = True
    return moment
