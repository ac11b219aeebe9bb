"""`python -m tests.mutation`: draws mutants of rooms, tries them, and prints which of them no test notices."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutation import equivalents
from tests.mutation.coveragemap import CoverageMap, refreshed
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.rooms import ROOMS, draw, sources
from tests.mutation.session import Limits, Result, Session, rate
from tests.mutation.trial import Verdict

ROOT = Path(__file__).parents[2]
PACKAGES = ("controllerlib", "fakekube")
MAP = ROOT / ".mutation" / "map.sqlite"

SILENT = (Verdict.SURVIVED, Verdict.UNREACHED, Verdict.UNTRIED)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "--room", action="append", choices=ROOMS, help="the rooms (default: all); may be given several times"
    )
    parser.add_argument("--path", action="append", help="files or folders instead of rooms")
    parser.add_argument("--count", type=int, default=50, help="mutants of each room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="what draws them (default: %(default)s)")
    parser.add_argument("--mutant", action="append", help="tries the mutants of these ids instead of drawing some")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time (default: %(default)s)")
    parser.add_argument(
        "--tests", type=int, default=Limits().tests, help="the most tests of a mutant (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=Limits().seconds, help="the most seconds of its tests (default: %(default)s)"
    )
    parser.add_argument("--tests-in", action="append", help="folders of tests that count (default: tests)")
    parser.add_argument("--stale", action="store_true", help="takes the map of lines as it is, while you work")
    parser.add_argument("--survivors", type=Path, help="appends the survivors to this file, in Markdown")
    return parser


def drawn(options: argparse.Namespace) -> dict[str, list[Mutant]]:
    """The mutants to try, by room."""
    rooms = (
        {path: (path,) for path in options.path}
        if options.path
        else {name: ROOMS[name] for name in options.room or ROOMS}
    )
    files = {room: sources(ROOT, places) for room, places in rooms.items()}
    if options.mutant:
        every = {
            room: [one for file, source in found.items() for one in mutants(file, source)]
            for room, found in files.items()
        }
        return {room: [one for one in found if one.id in options.mutant] for room, found in every.items()}
    return {room: draw(found, options.count, options.seed) for room, found in files.items()}


def line(result: Result) -> str:
    """One line about a result."""
    mutant = result.mutant
    tests = f"{result.run} of {result.reaching} tests"
    how = f"by {result.killer}" if result.killer else tests
    return f"{result.verdict:10} {mutant.id} {mutant.file}:{mutant.line} {mutant.scope}: {mutant.mutation} ({how})"


def main(given: list[str]) -> int:
    options = parser().parse_args(given)
    chosen = drawn(options)
    rows = []
    places = options.tests_in or ["tests"]
    with CoverageMap(MAP) if options.stale else refreshed(MAP, ROOT, PACKAGES, places, options.jobs) as known:
        session = Session(ROOT, PACKAGES, known, equivalents.load(), Limits(options.tests, options.seconds))
        for room, found in chosen.items():
            begun = time.perf_counter()
            results = session.tried(found, options.jobs, lambda result: print(line(result), flush=True))
            count = Counter(result.verdict for result in results)
            noticed, counted = rate(results)
            counts = [count[verdict] for verdict in Verdict]
            percent = f"{noticed / counted:.0%}" if counted else "-"
            rows.append([room, options.seed, len(results), *counts, percent, f"{time.perf_counter() - begun:.0f} s"])
            if options.survivors:
                with options.survivors.open("a") as file:
                    file.writelines(f"- {line(result)}\n" for result in results if result.verdict in SILENT)
    print(table(["room", "seed", "mutants", *Verdict, "noticed", "time"], rows))
    return 0


def table(head: list[str], rows: list[list[object]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
