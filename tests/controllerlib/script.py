"""One-line scripts of work queues: the operations and the items that are handed out.

+a        add a                       +a@5    add a after 5 s          +a!3    add a with priority 3
+a~       add a, rate limited         +a~@1   both                     +a@5!3  after 5 s with priority 3
>a        get hands out a             >-      get hands out nothing    >a!3    a, with priority 3
.a        done with a                 t5      time is 5                #2      length is 2
!         shut down
"""

import re
from typing import Any

from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queuestate import WorkQueueState

STEP = re.compile(r"(?P<item>[\w-]+?)?(?P<limited>~)?(@(?P<after>-?[\d.]+))?(!(?P<priority>-?\d+))?")


def play(state: WorkQueueState[str] | PriorityQueueState[str], script: str) -> None:
    """Run `script` with a queue's state; AssertionError names the step that fails."""
    now = 0.0
    for number, step in enumerate(script.split()):
        verb, rest = step[0], step[1:]
        where = f"step {number} {step!r} of {script!r}"
        if verb == "t":
            now = float(rest)
        elif verb == "!":
            state.shut_down()
        elif verb == "#":
            assert state.length(now) == int(rest), f"{where}: length {state.length(now)}"
        elif verb == ".":
            state.done(rest, now)
        else:
            match = STEP.fullmatch(rest)
            assert match, where
            priority = int(match["priority"]) if match["priority"] else None
            if verb == "+":
                after = float(match["after"] or 0)
                state.add(match["item"], now, after, bool(match["limited"]), priority)
            else:
                _expect(state.pop(now), rest, match["item"], priority, where)


def _expect(found: Any, rest: str, item: str, priority: int | None, where: str) -> None:
    if rest == "-":
        assert found is None, f"{where}: got {found}"
        return
    assert found is not None, f"{where}: got nothing"
    assert found.item == item, f"{where}: got {found}"
    if priority is not None:
        assert found.priority == priority, f"{where}: got {found}"
