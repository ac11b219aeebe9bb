"""The runner of mutation tests, on a package of one rule: what it draws, what it runs, and what it says of each mutant."""

from pathlib import Path
from textwrap import dedent

import pytest
from coverage.numbits import nums_to_numbits

from tests.mutation import equivalents
from tests.mutation.__main__ import ROOT
from tests.mutation.closest import OF_CONSTANTS, closest, of_constants, reaching
from tests.mutation.coveragemap import CoverageMap, Reaching, refreshed
from tests.mutation.mutants import mutants
from tests.mutation.rooms import ROOMS, draw, sources
from tests.mutation.session import Session, rate
from tests.mutation.trial import Verdict

RULE = '''
"""A rule."""

LIMIT = 3


def admits(count, force=False):
    """Whether `count` is admitted."""
    if force or count <= LIMIT:
        return True
    return False


def wait(count):
    while count > 0:
        count -= 1
    return count


def unused(count):
    return count * 2
'''

TESTS = """
import pytest

from toy.rule import admits, wait


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_admits(count):
    assert admits(count)


def test_rejects():
    assert not admits(9)


def test_wait_ends():
    assert wait(2) == 0


def test_fails_anyway():
    assert admits(0) is None
"""


def mutations(source):
    return {(mutant.line, mutant.mutation) for mutant in mutants("a.py", dedent(source).lstrip())}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "if a > 1:\n    pass",
            {"condition: a > 1 -> (not (a > 1))", "boundary: a > 1 -> (a >= 1)", "constant: 1 -> 2"},
        ),
        ("if not a:\n    pass", {"condition: not a -> (a)"}),
        ("x = a == b", {"comparison: a == b -> (a != b)"}),
        ("if a == b:\n    pass", {"condition: a == b -> (not (a == b))"}),
        ("x = a + b", {"arithmetic: a + b -> (a - b)"}),
        ("x = a + 'text'", set()),
        ("x = min(a)", {"arithmetic: min -> max"}),
        ("x += a", {"arithmetic: x += a -> x -= a", "removal: x += a -> pass"}),
        ("x = reversed(a)", {"order: reversed(a) -> iter(a)"}),
        (
            "x = sorted(a, key=b)",
            {"order: sorted(a, key=b) -> sorted(a)", "order: sorted(a, key=b) -> sorted(a, key=b, reverse=True)"},
        ),
        ("a.sort(reverse=b)", {"order: a.sort(reverse=b) -> a.sort()", "removal: a.sort(reverse=b) -> pass"}),
        ("x = f(key=lambda a: (a.b, a.c))", {"order: (a.b, a.c) -> (a.c, a.b)"}),
        ("f(a, b)", {"arguments: f(a, b) -> f(b, a)", "removal: f(a, b) -> pass"}),
        ("x = isinstance(a, b)", set()),
        ("x = a and b", {"boolean: a and b -> (a or b)"}),
        ("x = f(a, 'b', c)", {"arguments: f(a, 'b', c) -> f('b', a, c)"}),
        ('x = f("", "")', set()),
        ("x = any(a)", {"boolean: any -> all"}),
        ("x = 5", {"constant: 5 -> 6"}),
        ("x = f(a=True)", {"constant: True -> False"}),
        ("def f():\n    return True", {"return: True -> False"}),
        ("def f():\n    return a", {"return: a -> None"}),
        ("x[a] = b", {"removal: x[a] = b -> pass"}),
        ("for a in b:\n    continue", {"removal: continue -> pass"}),
        ("log.info('text', a)", set()),
        ('"""Documentation."""', set()),
        ("a: Literal[1] = b", set()),
    ],
)
def test_the_mutants_of_a_source(source, expected):
    assert {mutation for _, mutation in mutations(source)} == expected


def test_a_mutant_changes_nothing_else():
    source = "größe = 'ä' if a < b else 1  # text\nx = 2\n"
    changed = {mutant.mutation: mutant.applied(source) for mutant in mutants("a.py", source)}
    assert changed["boundary: a < b -> (a <= b)"] == "größe = 'ä' if (a <= b) else 1  # text\nx = 2\n"
    assert changed["constant: 2 -> 3"] == "größe = 'ä' if a < b else 1  # text\nx = 3\n"


def test_an_id_stays_when_lines_are_added_above():
    before, after = (mutants("a.py", source) for source in ("x = a + b\n", "import y\n\nx = a + b\n"))
    assert [mutant.id for mutant in before] == [mutant.id for mutant in after]


def test_equal_changes_of_equal_lines_have_ids_of_their_own():
    ids = [mutant.id for mutant in mutants("a.py", "x = a + b\nx = a + b\n")]
    assert len(ids) == len(set(ids)) == 2


def test_a_seed_draws_the_same_mutants_each_time_and_each_line_once():
    files = {"a.py": RULE}
    drawn = draw(files, 8, seed=7)
    assert drawn == draw(files, 8, seed=7) != draw(files, 8, seed=8)
    assert len({mutant.line for mutant in drawn}) == len(drawn)


def test_rare_kinds_of_mutations_are_drawn_as_well():
    files = {"a.py": "".join(f"a{n} = {n}\n" for n in range(100)) + "x = sorted(a)\n"}
    assert [mutant.kind for mutant in draw(files, 3, seed=1)].count("order") == 1


def test_every_room_has_sources_and_no_source_is_in_none():
    of_rooms = {file for places in ROOMS.values() for file in sources(ROOT, places)}
    every = set(sources(ROOT, ["fakekube", "controllerlib"]))
    assert {file for file in every - of_rooms if not file.startswith("fakekube/data/")} == {"fakekube/__init__.py", "fakekube/__main__.py", "fakekube/webpages/__init__.py"} & (every - of_rooms)  # fmt: skip


def one(name, lines, breadth, seconds=1.0):
    return Reaching(name, frozenset(range(lines)), breadth, seconds)


def test_the_closest_tests_are_those_that_run_little_else():
    tests = [one("far", 10, 1000), one("near", 10, 20), one("nearer", 15, 20)]
    assert [test.name for test in closest(tests, 2, seconds=60)] == ["nearer", "near"]


def test_cases_of_one_function_take_turns_with_other_functions():
    tests = [*(one(f"table[{n}]", 10, 20) for n in range(9)), one("other", 10, 1000)]
    assert {test.name for test in closest(tests, 2, seconds=60)} == {"table[0]", "other"}


def test_half_of_the_tests_are_the_closest_ones_of_any_function():
    tests = [*(one(f"table[{n}]", 10, 20) for n in range(9)), *(one(f"far {n}", 10, 1000) for n in range(9))]
    assert sum(test.name.startswith("table") for test in closest(tests, 8, seconds=60)) == 4


def test_the_tests_of_a_mutant_take_no_more_seconds_than_given_but_one_always_runs():
    tests = [one("long", 10, 20, seconds=50), one("longer", 9, 20, seconds=90)]
    assert [test.name for test in closest(tests, 9, seconds=60)] == ["long"]
    assert [test.name for test in closest(tests[1:], 9, seconds=60)] == ["longer"]


@pytest.fixture
def toy(tmp_path):
    """A project of one package with tests."""
    root = tmp_path / "project"
    for path, text in {
        "toy/__init__.py": "",
        "toy/rule.py": RULE,
        "tests/test_rule.py": TESTS,
        "pytest.ini": "[pytest]\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def mapped(root: Path, **options) -> CoverageMap:
    return refreshed(root / ".mutation" / "map.sqlite", root, ["toy"], ["tests"], 0)


@pytest.mark.slow  # runs pytest about ten times
def test_a_session_on_a_toy(toy):
    every = mutants("toy/rule.py", RULE)
    wanted = {
        "boundary: count <= LIMIT -> (count < LIMIT)": Verdict.KILLED,
        "boolean: force or count <= LIMIT -> (force and count <= LIMIT)": Verdict.KILLED,
        "constant: False -> True": Verdict.KILLED,
        "constant: 3 -> 4": Verdict.SURVIVED,
        "return: False -> True": Verdict.KILLED,
        "arithmetic: count -= 1 -> count += 1": Verdict.TIMED_OUT,
        "arithmetic: count * 2 -> (count + 2)": Verdict.SURVIVED,
        "boundary: count > 0 -> (count >= 0)": Verdict.EQUIVALENT,
    }
    chosen = [mutant for mutant in every if mutant.mutation in wanted]
    listed = [
        equivalents.Equivalent(
            "toy/rule.py", "while count > 0:", "boundary: count > 0 -> (count >= 0)", "only for this test"
        )
    ]
    with mapped(toy) as known:
        assert "tests/test_rule.py::test_fails_anyway" not in {test.name for test in known.reaching("toy/rule.py")}
        results = Session(toy, ["toy"], known, listed, start=5).tried(chosen, 2, lambda result: None)
    assert {result.mutant.mutation: result.verdict for result in results} == wanted
    assert rate(results) == (5, 7)
    assert (toy / "toy" / "rule.py").read_text() == RULE


def test_a_function_that_only_an_import_runs_is_tried_by_all_tests_of_its_module(tmp_path):
    path = "fakekube/tables.py"
    source = "def made(n):\n    return n\n\n\ndef used(n):\n    return n\n\n\nTABLE = made(3)\n"
    of_made, of_used = [mutant for mutant in mutants(path, source) if mutant.kind == "return"]
    with CoverageMap(tmp_path / "map" / "map.sqlite") as known:
        for number, lines in enumerate([[1, 2, 5, 9], [6], [6]], 1):
            known._database.execute("INSERT INTO test VALUES (?, ?, 1, 0.1, 5)", (number, f"test_{number}"))
            known._database.execute("INSERT INTO reached VALUES (?, ?, ?)", (path, number, nums_to_numbits(lines)))
        assert [test.name for test in reaching(of_made, known, {})] == ["test_1", "test_2", "test_3"]
        assert [test.name for test in reaching(of_used, known, {})] == ["test_2", "test_3"]


def test_mutants_that_run_at_import_are_also_tried_by_the_tests_of_constants(tmp_path):
    path, name = "fakekube/apiserver/limits.py", f"{OF_CONSTANTS['fakekube/apiserver'][0]}::test_limits"
    at_import, in_function = mutants(path, "LIMIT = 3\n\n\ndef limit():\n    return LIMIT\n")
    (elsewhere,) = mutants("fakekube/server/limits.py", "LIMIT = 3\n")
    with CoverageMap(tmp_path / "map" / "map.sqlite") as known:
        known._database.execute("INSERT INTO test VALUES (NULL, ?, 1, 0.1, 5)", (name,))
        known._database.execute("INSERT INTO test VALUES (NULL, 'tests/test_other.py::test_other', 1, 0.1, 5)")
        assert [test.name for test in of_constants(at_import, known)] == [name]
        assert of_constants(in_function, known) == of_constants(elsewhere, known) == []


@pytest.mark.slow
def test_tests_that_are_gone_since_the_map_was_made_kill_nothing(toy):
    with mapped(toy) as known:
        tests = toy / "tests" / "test_rule.py"
        tests.write_text(TESTS.replace("def test_", "def test_renamed_", 1))
        (chosen,) = (one for one in mutants("toy/rule.py", RULE) if one.mutation == "constant: 3 -> 4")
        (renamed,) = Session(toy, ["toy"], known, [], start=5).tried([chosen], 1, lambda result: None)
        assert renamed.verdict is Verdict.SURVIVED
        tests.unlink()
        (without,) = Session(toy, ["toy"], known, [], start=5).tried([chosen], 1, lambda result: None)
        assert without.verdict is Verdict.UNTRIED


@pytest.mark.slow
def test_the_map_is_refreshed_where_files_have_changed(toy):
    mapped(toy).__exit__()
    rule = toy / "toy" / "rule.py"
    rule.write_text("# a line above\n" + RULE)
    (toy / "tests" / "test_more.py").write_text(
        "from toy.rule import unused\n\n\ndef test_unused():\n    assert unused(2) == 4\n"
    )
    (mutant,) = (
        mutant
        for mutant in mutants("toy/rule.py", rule.read_text())
        if mutant.scope == "unused" and mutant.kind == "return"
    )
    with mapped(toy) as known:
        assert [test.name for test in reaching(mutant, known, {})] == ["tests/test_more.py::test_unused"]


@pytest.mark.slow
def test_listed_equivalents_exist_and_have_a_reason():
    entries = equivalents.load()
    found = [
        mutant for file in {entry.file for entry in entries} for mutant in mutants(file, (ROOT / file).read_text())
    ]
    assert equivalents.stale(entries, found) == []
    assert [entry for entry in entries if not entry.reason.strip()] == []
