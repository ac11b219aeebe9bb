"""A mixed scenario that prints its log; runs in a separate process."""

import asyncio
import datetime
import sys
import time

import aiohttp
import urllib3

from fakekube.virtualtime import Bubble
from tests.virtualtime.server import Server


def main(transport):
    with Bubble(seed=7, transport=transport) as bubble:
        server = Server(bubble)
        log = []

        def note(*entry):
            log.append(f"{bubble.clock.us} {datetime.datetime.now().isoformat()} {entry}")

        def sync_worker(name):
            with urllib3.PoolManager() as http:
                for attempt in range(60):
                    number = http.request("PUT", f"{server.url}/n/{name}").json()
                    note(name, number)
                    time.sleep(60 + 60 * bubble.seed.float("jitter", name, attempt))

        async def watcher(name):
            for_ever = aiohttp.ClientTimeout(total=None)
            async with aiohttp.ClientSession(timeout=for_ever) as session, session.get(f"{server.url}/watch") as watch:
                async for line in watch.content:
                    note(name, line)

        async def async_worker(name):
            async with aiohttp.ClientSession() as session:
                for attempt in range(60):
                    async with session.put(f"{server.url}/n/{name}") as response:
                        note(name, await response.json())
                    async with session.get(f"{server.url}/slow?after=0.5") as response:
                        note(name, await response.json())
                    note(name, await asyncio.to_thread(lambda: time.time()))
                    await asyncio.sleep(60 + 60 * bubble.seed.float("jitter", name, attempt))

        for number in range(4):
            bubble.thread(sync_worker, f"sync-{number}")
            bubble.loop.create_task(async_worker(f"async-{number}"))
            bubble.loop.create_task(watcher(f"watcher-{number}"))
        with urllib3.PoolManager() as http:
            for hour in range(2):
                note("test", http.request("PUT", f"{server.url}/n/test").json())
                bubble.advance(hours=1)
                note("test", hour, sorted(server.numbers.items()))
        return log


if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in main(sys.argv[1])))
