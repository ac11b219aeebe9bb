"""A process may be stopped by code that runs in the same turn of the loop as its own."""

import asyncio

from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess


def test_a_process_that_is_stopped_in_the_turn_in_which_its_tasks_would_run_goes_on_later():
    ran = []

    async def work(name):
        for number in range(3):
            await asyncio.sleep(0)
            ran.append(f"{name}{number}")

    async def stop(process):
        await asyncio.sleep(0)
        bubble.loop.processes.stop(process)

    with Bubble(wall_clock=False) as bubble:
        process = SimulatedProcess("operator")
        stopping = bubble.loop.create_task(stop(process))
        tasks = [bubble.loop.start_process(work(name), process) for name in "abc"]
        bubble.settle()
        assert (ran, stopping.done()) == ([], True)
        bubble.loop.processes.resume(process)
        bubble.settle()
        assert ran == [f"{name}{number}" for number in range(3) for name in "abc"]
        assert all(task.done() for task in tasks)
