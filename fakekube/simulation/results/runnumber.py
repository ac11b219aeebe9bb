"""The number of a run, and of how many: `4 of 200`."""

#: A budget of so many runs is one of real time, which has no number of runs.
UNLIMITED = 10**9


def run_of(number: int, budget: int) -> str:
    """The number of a run, from 1, and the number of runs of its budget if that has one."""
    return f"{number} of {budget}" if budget < UNLIMITED else str(number)
