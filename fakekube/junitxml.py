"""Reports in JUnit XML, as CI systems read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

#: Characters that XML 1.0 does not have.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """A test case. `failure`: why it has failed, in one line; None if it has passed. `text`: the failure in full, or
    what a passed case has printed."""

    classname: str
    name: str
    failure: str | None = None
    text: str = ""
    seconds: float | None = None


def document(name: str, cases: Sequence[Case], seconds: float | None = None) -> str:
    """A report of one suite. Characters that XML does not have become "?"."""
    failures = sum(case.failure is not None for case in cases)
    suite = ElementTree.Element("testsuite", name=name)
    suite.attrib |= {"tests": str(len(cases)), "failures": str(failures), "errors": "0", **_time(seconds)}
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", classname=_plain(case.classname), name=_plain(case.name))
        element.attrib |= _time(case.seconds)
        if case.failure is not None:
            ElementTree.SubElement(element, "failure", message=_plain(case.failure)).text = _plain(case.text) or None
        elif case.text:
            ElementTree.SubElement(element, "system-out").text = _plain(case.text)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _time(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"time": f"{seconds:.3f}"}


def _plain(text: str) -> str:
    return _NOT_XML.sub("?", text)
