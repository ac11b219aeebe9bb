"""`python -m tests.differential`: compares fakekube with the API server at a URL by generated requests."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

import aiohttp

from tests.differential import report
from tests.differential.areas import AREAS
from tests.differential.normalising import PROGRAM
from tests.differential.servers import Local, remote
from tests.differential.session import Outcome, Session


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    found.add_argument("--url", required=True, help="the other server, without controllers, with the token of an admin")
    found.add_argument("--token", default="admin-token", help="its bearer token (default: %(default)s)")
    found.add_argument("--insecure", action="store_true", help="does not check its certificate")
    found.add_argument("--requests", type=int, default=20_000, help="of all areas together (default: %(default)s)")
    found.add_argument("--seed", type=int, default=1, help="what draws the requests (default: %(default)s)")
    found.add_argument("--area", default=",".join(AREAS), help="areas, with commas (default: %(default)s)")
    found.add_argument("--only", action="append", help="AREA:NUMBER, a scenario; may be given several times")
    found.add_argument("--version", default="1.36", help="the version of fakekube (default: %(default)s)")
    found.add_argument("--program", default=PROGRAM, help="the file name of the other server (default: %(default)s)")
    found.add_argument("--jobs", type=int, default=16, help="scenarios at a time (default: %(default)s)")
    found.add_argument("--once", action="store_true", help="counts differences of the first run of a scenario")
    found.add_argument("--most", type=int, default=0, help="the most rules that are printed (default: all)")
    found.add_argument("--report", type=Path, help="writes the report to this file as well")
    return found


async def compare(options: argparse.Namespace) -> Outcome:
    areas = options.area.split(",")
    budget = -(-options.requests // len(areas))
    async with remote(options.url, options.token, insecure=options.insecure, jobs=options.jobs) as theirs:
        session = Session(
            theirs, Local(options.version), options.seed, options.jobs, not options.once, options.program, _progress()
        )
        if options.only:
            return await session.only(
                [(area, int(number)) for area, _, number in (one.partition(":") for one in options.only)]
            )
        return await session.run(dict.fromkeys(areas, budget))


def _progress():
    start, last = time.monotonic(), [0.0]

    def show(outcome: Outcome) -> None:
        now = time.monotonic()
        if now - last[0] > 10:
            last[0] = now
            area, count = list(outcome.counts.items())[-1]
            every = sum(one.requests for one in outcome.counts.values())
            print(f"{area}: {count.requests} requests, {every / (now - start):.0f}/s", file=sys.stderr, flush=True)

    return show


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 without differences, 1 with some, 2 if the server cannot be reached."""
    options = parser().parse_args(arguments)
    unknown = [area for area in options.area.split(",") if area not in AREAS]
    if unknown:
        print(f"no such area: {', '.join(unknown)}", file=sys.stderr)
        return 2
    try:
        outcome = asyncio.run(compare(options))
    except aiohttp.ClientConnectionError as error:
        print(f"cannot reach {options.url}: {error}", file=sys.stderr)
        return 2
    text = "\n".join(report.lines(outcome, most=options.most))
    print(text)
    if options.report:
        options.report.write_text("\n".join(report.lines(outcome)) + "\n")
    return 1 if outcome.differences or outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
