"""N3: a log shows a traceback once, and a failing test's output has a readable length, however much has failed."""

import logging
import traceback

import pytest

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from fakekube.harness.repeatedtracebacks import without_repetitions
from tests.innerruns import LEAN


def raised(text, depth=0):
    if depth:
        raised(text, depth - 1)
    raise LookupError(text)


def trace(call, *arguments):
    try:
        call(*arguments)
    except Exception:
        return traceback.format_exc().rstrip("\n")


def chained(text):
    try:
        raised(text)
    except LookupError as error:
        raise ValueError("outer") from error


def grouped(text):
    try:
        raised(text)
    except LookupError as error:
        raise ExceptionGroup("of a task group", [error]) from None


@pytest.mark.parametrize("call", [raised, chained, grouped])
def test_n3_a_traceback_is_shown_once(call):
    one = f"ERROR    op:op.py:3 failed: a\n{trace(call, 'a')}"
    text = "\n".join(["INFO     op:op.py:1 begin", *[one] * 15, "INFO     op:op.py:2 end"])
    lines = without_repetitions(text).split("\n")
    assert lines[0] == "INFO     op:op.py:1 begin"
    assert lines[-1] == "INFO     op:op.py:2 end"
    assert lines[-2] == "(this traceback is logged 14 times more)"
    assert lines[1:-2] == one.split("\n")


def test_n3_tracebacks_of_several_keys_are_one():
    records = [f"ERROR    op:op.py:3 failed: {key}\n{trace(raised, key)}" for key in "abcab"]
    assert without_repetitions("\n".join(records)).split("\n") == [
        *records[0].split("\n"),
        "(this traceback is logged 4 times more, with 3 different messages; the last: ERROR    op:op.py:3 failed: b)",
    ]


def test_n3_other_tracebacks_and_lines_stay_where_they_are():
    first, second = trace(raised, "a"), trace(raised, "a", 1)
    text = f"ERROR x\n{first}\nINFO between\nERROR y\n{second}\nERROR x\n{first}\n\nINFO last"
    assert without_repetitions(text) == (
        f"ERROR x\n{first}\n(this traceback is logged 1 time more)\nINFO between\nERROR y\n{second}\n\nINFO last"
    )


def test_n3_messages_of_several_lines():
    error = trace(raised, "a\nb\nc")
    text = "\n".join([f"ERROR    x\n{error}"] * 3 + ["INFO     end"])
    assert without_repetitions(text) == (f"ERROR    x\n{error}\n(this traceback is logged 2 times more)\nINFO     end")


@pytest.mark.parametrize(
    "text", ["", "\n", "a\n\nb", "Traceback (most recent call last):", "a\nTraceback (most recent"]
)
def test_n3_texts_without_repetitions_are_the_same(text):
    assert without_repetitions(text) == text


def test_n3_every_line_is_one_of_the_text(caplog):
    """Whatever is logged, in whichever order: nothing is invented, and the first of each kind is kept."""
    calls = [raised, chained, grouped]
    for number in range(30):
        try:
            calls[number % 3](f"{number}")
        except Exception:
            logging.getLogger("op").exception("failed: %s", number % 7)
        logging.getLogger("op").warning("plain %s", number)
    text = caplog.text
    folded = without_repetitions(text)
    known = set(text.split("\n"))
    extra = [line for line in folded.split("\n") if line not in known]
    assert len(extra) == 3
    assert all(line.startswith("(this traceback is logged 9 times more, with 7 ") for line in extra)
    assert folded.count("plain ") == 30


# --- the whole output of a failing test

FAILING = """
import logging
import sys
import pytest

def lookup(name):
    raise LookupError(f"no configuration for {name}")

async def error(request, client):
    found = await client.get("v1", "ConfigMap", request.name, request.namespace)
    lookup(found["metadata"]["name"])

async def bug(request, client):
    found = await client.get("v1", "ConfigMap", request.name, request.namespace)
    found["metadata"]["nme"]

async def raises_group(request, client):
    raise ExceptionGroup("several", [LookupError(request.name), ValueError(request.name)])

@pytest.fixture
def objects(fakekube):
    for number in range(COUNT):
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"o-{number}"}})

@pytest.fixture
def own_handler():
    handler = logging.StreamHandler(sys.stderr)
    if HANDLER:
        logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)

@pytest.mark.usefixtures("own_handler", "objects")
@pytest.mark.parametrize("reconcile", [error, bug, raises_group])
def test_it(fakekube, reconcile):
    fakekube.start(lambda manager: manager.controller("c").for_("v1", "ConfigMap").complete(reconcile))
    fakekube.advance(100)
    if ASSERTS:
        assert fakekube.get("v1", "ConfigMap", "o-0").get("data") == {"ready": "yes"}
"""


def output(pytester, *options, count=1, asserts=True, handler=False):
    head = f"COUNT, ASSERTS, HANDLER = {count}, {asserts}, {handler}\n"
    pytester.makepyfile(head + FAILING)
    return pytester.runpytest_inprocess(*LEAN, *options).outlines


@pytest.mark.slow
@pytest.mark.parametrize("reconcile", ["error", "bug", "raises_group"])
@pytest.mark.parametrize("asserts", [True, False])
def test_n3_one_failing_object_with_15_retries_prints_at_most_60_lines(pytester, reconcile, asserts):
    lines = output(pytester, "-k", f"[{reconcile}]", asserts=asserts)
    assert sum("#15 failed: " in line for line in lines) == 1
    assert "(this traceback is logged 14 times more)" in lines
    summary = next(index for index, line in enumerate(lines) if "short test summary" in line)  # whole where CI is set
    assert sum("has not succeeded since" in line for line in lines[:summary]) == 1
    assert len(lines) <= 60 + 3 * (reconcile == "raises_group"), "a group has more lines by itself"


@pytest.mark.slow
def test_n3_500_failing_objects_print_at_most_120_lines(pytester):
    lines = output(pytester, "-k", "[bug]", count=500, asserts=False)
    assert (
        sum("(this traceback is logged 7,499 times more, with 500 different messages; " in line for line in lines) == 1
    )
    assert any("and 490 more" in line for line in lines)
    assert len(lines) <= 120


def test_n3_standard_error_is_shortened_too(pytester):
    lines = output(pytester, "-k", "[error]", handler=True)
    assert lines.count("(this traceback is logged 14 times more)") == 2
    assert any("Captured stderr call" in line for line in lines)


@pytest.mark.slow
def test_n3_all_of_it_is_shown_on_request(pytester):
    lines = output(pytester, "-k", "[error]", "--full-trace")
    assert lines.count("LookupError: no configuration for o-0") == 15


def test_n3_records_of_caplog_are_complete(pytester):
    source = FAILING.replace("def test_it(fakekube, ", "def test_it(caplog, fakekube, ").replace(
        "    if ASSERTS:", "    assert len(caplog.records) == 15 == caplog.text.count('Traceback')\n    if ASSERTS:"
    )
    pytester.makepyfile(f"COUNT, ASSERTS, HANDLER = 1, False, False\n{source}")
    pytester.runpytest_inprocess(*LEAN, "-k", "[error]").stdout.fnmatch_lines(["*has not succeeded since*"])
