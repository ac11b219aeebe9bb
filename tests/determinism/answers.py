"""Sends all requests of the recorded packs to a new server, and prints digests of the answers.

What a set is iterated over, or whatever else depends on PYTHONHASHSEED, shows as a difference between two processes:

    PYTHONHASHSEED=1 python -m tests.determinism.answers
"""

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs

from fakekube.apiserver.needs import Posts, Reply
from fakekube.apiserver.user import ADMIN
from fakekube.apiserver.wire.request import Request, parse
from tests.apiserver.api import Api

PACKS = Path(__file__).parent.parent / "conformance" / "packs"


def asked(value, ns):
    """A part of a recorded request, in the namespace `ns`; references to earlier answers are left as they are."""
    if isinstance(value, dict):
        return {asked(key, ns): asked(item, ns) for key, item in value.items()}
    if isinstance(value, list):
        return [asked(item, ns) for item in value]
    return value.replace("${ns}", ns) if isinstance(value, str) else value


def answer(api, step):
    """The response to one request; webhooks are unreachable."""
    headers = {
        "content-type": "application/json",
        **{name.lower(): text for name, text in step.get("headers", {}).items()},
    }
    query = {name: [str(value)] for name, value in step.get("query", {}).items()}
    path, _, more = step["path"].partition("?")
    body = step.get("body", b"")
    sent = body.encode() if isinstance(body, str) else body
    request = Request(step["method"], path, {**parse_qs(more, keep_blank_values=True), **query}, headers, sent, ADMIN)
    asking = api.apiserver.answer(request, parse(request), request.user, api.context)
    try:
        need = next(asking)
        while True:
            posts = need.posts if isinstance(need, Posts) else ()
            need = asking.send([Reply(problem="nobody answers")] * len(posts))
    except StopIteration as end:
        return end.value


def visible(response):
    """Everything that a client sees of a response."""
    if response.body is not None:
        yield response.body.encode()
    yield from (warning.encode() for warning in response.warnings)
    if response.watch is not None:
        yield from (event.line for event in response.watch.initial)


def main():
    api = Api()
    for pack in sorted(PACKS.glob("*.json")):
        for scenario in json.loads(pack.read_text())["scenarios"]:
            ns = scenario["id"].lower()
            api.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            steps = asked([*scenario["steps"], *scenario.get("cleanup", [])], ns)
            for number, step in enumerate(steps):
                if "method" in step:
                    response = answer(api, step)
                    digest = hashlib.sha256(b"\n".join(visible(response))).hexdigest()[:12]
                    print(scenario["id"], number, response.status, digest)
            api.context.time += timedelta(seconds=1)


if __name__ == "__main__":
    main()
