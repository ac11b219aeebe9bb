"""What `fakekube run` reports about the clients of its command."""

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fakekube.control.runreport import PRINTED, Ended, files_of, junit, lines, status_of, write
from fakekube.harness.detectors.finding import Finding
from fakekube.server.process.listening import CannotServe

AT = datetime(2026, 1, 1, tzinfo=UTC)
LOOP = Finding("hot-loop", "writes <again>", AT, "mine/1", 3)
NOOP = [Finding("noop-write", f"write {number}", AT, "mine/1") for number in range(12)]
PASSED, FAILED = Ended(["make", "test"], 0, 1.5), Ended(["make\x00", "test"], 3, 1.5)


@pytest.mark.parametrize(
    ("ended", "findings", "strictness", "status"),
    [
        (PASSED, [LOOP], "warn", 0), (PASSED, [LOOP], "error", 1), (PASSED, [], "error", 0), (FAILED, [LOOP], "error", 3),
        (FAILED, [], "warn", 3),
    ],
)  # fmt: skip
def test_the_status(ended, findings, strictness, status):
    assert status_of(ended, findings, strictness) == status


def test_findings_are_printed_the_first_ones_of_each_detector():
    assert lines([]) == []
    assert lines([LOOP]) == [
        "fakekube run: 1 finding about the clients:", "  [hot-loop] mine/1: writes <again> (3 times)",
    ]  # fmt: skip
    found = lines([LOOP, *NOOP])
    assert (found[0], len(found), found[-1]) == (
        "fakekube run: 13 findings about the clients:", 13, "  [noop-write] and 2 more",
    )  # fmt: skip


@pytest.mark.parametrize("number", [1, PRINTED - 1, PRINTED, PRINTED + 1])
def test_what_is_not_printed_is_counted(number):
    shown = [f"  {one}" for one in NOOP[: min(number, PRINTED)]]
    more = ["  [noop-write] and 1 more"] if number > PRINTED else []
    assert lines(NOOP[:number])[1:] == [*shown, *more]


@pytest.mark.parametrize(
    ("ended", "strictness", "failures"),
    [(PASSED, "warn", []), (PASSED, "error", ["hot-loop", "noop-write"]), (FAILED, "warn", ["make? test"])],
)
def test_junit_has_a_case_for_the_command_and_for_each_detector(ended, strictness, failures):
    text = junit(ended, [LOOP, *NOOP], strictness)
    suite = ElementTree.fromstring(text.encode()).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("time")) == ("3", str(len(failures)), "1.500")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == failures
    assert [len(case.findall("*")) for case in suite.findall("testcase[@classname='fakekube.findings']")] == [1, 1]
    assert "writes <again>" in "".join(suite.itertext())


def test_the_files_of_users():
    assert files_of(["a=b", "system:serviceaccount:x:y=c=d"]) == {
        "a": Path("b"), "system:serviceaccount:x:y": Path("c=d"),
    }  # fmt: skip
    for text in ("a", "=b", "a="):
        with pytest.raises(CannotServe, match=f"--rbac-report {text}: pass USER=FILE"):
            files_of([text])


def test_a_report_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(CannotServe, match=rf"--junit {tmp_path}/none/a: No such file or directory"):
        write("junit", tmp_path / "none" / "a", "")
