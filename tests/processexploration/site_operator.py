"""A small operator of ConfigMaps with the label app=site: it makes two children and records that it has."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ["FAKEKUBE_URL"]
BASE = "/api/v1/namespaces/default/configmaps"
CORRECT = "--correct" in sys.argv


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"User-Agent": "site-operator/1", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def make(site, name):
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": site["metadata"]["name"], "uid": site["metadata"]["uid"]}
    code, _ = ask("POST", BASE, {"metadata": {"name": name, "ownerReferences": [owner]}, "data": {"of": owner["name"]}})
    if code not in (201, 409):
        raise OSError(code)


def reconcile(site):
    name = site["metadata"]["name"]
    # the defect: the second child is made only if the first one is absent
    if CORRECT or ask("GET", f"{BASE}/{name}-a")[0] == 404:
        make(site, f"{name}-a")
        make(site, f"{name}-b")
    if site.get("data", {}).get("done") != "yes":
        code, _ = ask("PUT", f"{BASE}/{name}", {**site, "data": {**site.get("data", {}), "done": "yes"}})
        if code != 200:
            raise OSError(code)


while True:
    try:
        for site in ask("GET", f"{BASE}?labelSelector=app%3Dsite")[1]["items"]:
            reconcile(site)
    except (OSError, KeyError):
        pass
    time.sleep(0.2)  # noqa: TID251 - a process in real time
