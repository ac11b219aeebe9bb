"""A headless Chromium that tests drive with the DevTools protocol."""

import asyncio
import json
import os
import shutil
import signal
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

#: The names of the browser's program.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

#: Real seconds until the browser is ready, and for one command.
PATIENCE = 60


def program():
    """The path of the browser, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page of the browser."""

    def __init__(self, socket):
        self._socket, self._sent = socket, 0
        self.requested = []

    async def command(self, method, **params):
        """Send a command and return its result; the addresses of network requests are collected meanwhile."""
        self._sent += 1
        await self._socket.send_json({"id": self._sent, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json(timeout=PATIENCE)
            if message.get("method") == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if message.get("id") == self._sent:
                assert "error" not in message, message
                return message["result"]

    async def evaluate(self, script):
        """The value of an expression in the page."""
        result = await self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def open(self, address):
        """Load a page and wait until its script has run."""
        await self.command("Network.enable")
        await self.command("Page.enable")
        await self.command("Page.navigate", url=address)
        for _ in range(PATIENCE * 20):
            if await self.evaluate("document.readyState") == "complete" and await self.evaluate("!!document.title"):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the page was not loaded")

    async def click(self, selector):
        """Click into the middle of an element, with a real mouse event."""
        script = f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
          one.scrollIntoView({{block: "center", inline: "center"}});
          const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        x, y = await self.evaluate(script)
        for kind in ("mousePressed", "mouseReleased"):
            await self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def text(self, selector):
        """The visible text of an element, when the page has been drawn."""
        return await self._drawn(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    async def texts(self, selector):
        """The visible texts of all matching elements, when the page has been drawn."""
        return await self._drawn(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.innerText)")

    async def _drawn(self, script):
        """The value of an expression after the next frame: before it, the visible texts of new rows are empty."""
        wait = f"requestAnimationFrame(() => requestAnimationFrame(() => done({script})))"
        return await self.evaluate(f"new Promise(done => {wait})")


@asynccontextmanager
async def browser():
    """A new browser with one page, which ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
        process = await asyncio.create_subprocess_exec(
            program(), *options, "--window-size=1600,1000", "--remote-debugging-port=0", f"--user-data-dir={profile}",
            "about:blank", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": profile}, start_new_session=True,
        )  # fmt: skip
        try:
            port = await _port(Path(profile) / "DevToolsActivePort", process)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [one for one in await answer.json() if one["type"] == "page"]
                async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with its children, which write to the profile, too
            await process.wait()


async def _port(file, process):
    for _ in range(PATIENCE * 20):
        if file.exists() and "\n" in file.read_text():
            return int(file.read_text().split("\n")[0])
        assert process.returncode is None, "the browser has ended"
        await asyncio.sleep(0.05)
    raise AssertionError("the browser did not start")


#: The marks of tests that need a browser.
in_a_browser = [
    pytest.mark.skipif(program() is None, reason=f"none of {', '.join(NAMES)} is installed"),
    pytest.mark.timeout(180),
    pytest.mark.slow,
]


def in_browser(address, act):
    """What `act(page)` returns, called with an opened page."""

    async def driven():
        async with browser() as opened:
            await opened.open(address)
            return await act(opened)

    return asyncio.run(driven())


#: The text with the least contrast to its background.
CONTRAST = r"""(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgb = (color, under) => { canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1); canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const luminance = parts => { const [r, g, b] = parts.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const background = one => { for (; one; one = one.parentElement) { const found = getComputedStyle(one).backgroundColor;
    if (!/rgba\(.*, 0\)|transparent/.test(found)) return found; } return "white"; };
  let worst = {ratio: 99};
  for (const one of document.querySelectorAll("h1, h2, h3, span, button, p, small, b, dd, dt")) {
    if (!one.innerText || one.getAttribute("aria-pressed") === "false" && one.classList.contains("kind")) continue;
    const under = rgb(background(one), "white"), text = rgb(getComputedStyle(one).color, `rgb(${under})`);
    const [high, low] = [luminance(text), luminance(under)].sort((a, b) => b - a), ratio = (high + .05) / (low + .05);
    if (ratio < worst.ratio) worst = {ratio, text: one.innerText.slice(0, 40), color: `${text} on ${under}`};
  }
  return worst; })()"""
