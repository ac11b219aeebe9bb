"""leaked-secret: values of Secrets where everybody can read them."""

import base64
import logging

import kopf
import kubernetes
import pytest

from tests.harness.detectors.scenes import found, read, run, start_kopf, start_program, texts
from tests.harness.planted import API

log = logging.getLogger("app")

PASSWORD = "hunter22"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSj\n-----END PRIVATE KEY-----\n"
META = {"name": "db", "namespace": "default"}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": META,
    "stringData": {"password": PASSWORD, "tls.key": KEY, "username": "administrator", "ca.crt": "MIIBszCCAVmgAwIBAgI"},
}


def config_map(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**META, "name": "made"}, "data": data}


def event(message):
    about = {"apiVersion": API, "kind": "Database", "name": "a", "namespace": "default"}
    meta = {**META, "name": "e"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "message": message}


def writing(obj=None, status=None, said=None):
    async def reconcile(request, client):
        seen = await read(client, request)
        if obj is not None and not seen.get("status"):
            await client.apply(obj, field_manager="c", force=True)
        if not seen.get("status"):
            await client.patch_status(seen, {"status": status or {"phase": "Ready"}})
        if said:
            log.warning("connecting with %s", said)

    return reconcile


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ({"obj": config_map(url=f"postgres://admin:{PASSWORD}@db/x")}, "patch configmaps default/made -> 201 has the value of password of the Secret default/db in .data.url, in c"),
        ({"obj": config_map(pem=KEY.replace("\n", "|"))}, "has the value of tls.key of the Secret default/db in .data.pem"),
        ({"obj": config_map(raw=base64.b64encode(PASSWORD.encode()).decode())}, "of the Secret default/db in .data.raw"),
        ({"obj": event(f"cannot log in with '{PASSWORD}'")}, "events default/e -> 201 has the value of password of the Secret default/db in .message"),
        ({"status": {"conditions": [{"message": f"login {PASSWORD}"}]}}, "databases/status default/a -> 200 has the value of password of the Secret default/db in .status.conditions[0].message"),
        ({"said": PASSWORD}, "app logged the value of password of the Secret default/db at level WARNING (test_leaked_secrets.py:"),
    ],
    ids=["configmap", "key", "base64", "event", "status", "log"],
)  # fmt: skip
def test_a_value_that_everybody_can_read(kube, written, where):
    kube.apply(SECRET)
    run(kube, writing(**written))
    (text,) = texts(kube)
    assert text.startswith("[leaked-secret] ")
    assert where in text
    assert PASSWORD not in text


@pytest.mark.parametrize(
    "written",
    [
        {"obj": config_map(user="administrator", ca="MIIBszCCAVmgAwIBAgI", secret="db", key="tls.key")},
        {"obj": config_map(word=f"x{PASSWORD}y", other="hunter2")},
        {"obj": {**SECRET, "metadata": {**META, "name": "copy"}}},
        {"status": {"secretName": "db", "phase": "waiting for the password"}},
        {"said": "administrator"},
    ],
    ids=["public values", "other words", "another Secret", "the name of the Secret", "log"],
)
def test_what_is_no_secret_or_no_public_place(kube, written):
    kube.apply(SECRET)
    run(kube, writing(**written))
    assert found(kube) == []


def test_values_that_are_words_of_any_message(kube):
    kube.apply({**SECRET, "stringData": {"password": "password", "token": "database", "secret": "short"}})
    run(kube, writing(status={"message": "the password of the database is short"}, said="the password of the database"))
    assert found(kube) == []


def test_a_value_that_the_user_has_put_into_the_spec_or_the_test_into_a_config_map(kube):
    async def reconcile(request, client):
        seen = await client.get("v1", "ConfigMap", "made", "default")
        await client.patch(seen, {"metadata": {"labels": {"x": "y"}}})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**META, "name": "p"}}
        env = [{"name": "PASSWORD", "value": PASSWORD}]
        await client.apply(
            {**pod, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}, field_manager="c", force=True
        )
        await client.patch_status({**pod}, {"status": {"message": f"env PASSWORD={PASSWORD}"}})

    kube.apply(SECRET, config_map(password=PASSWORD))
    run(kube, reconcile)
    assert "leaked-secret" not in found(kube)


@pytest.mark.parametrize(("value", "expected"), [(PASSWORD, ["leaked-secret"]), ("administrator", []), ("db", [])])
def test_the_official_client(kube, value, expected):
    def program(api):
        api.create_namespaced_config_map("default", config_map(value=value))

    kube.apply(SECRET)
    start_program(kube, program)
    assert found(kube) == expected


@pytest.mark.parametrize("way", ["status", "log", "event"])
@pytest.mark.parametrize(("value", "expected"), [(PASSWORD, ["leaked-secret"]), ("the Secret db", [])])
def test_a_handler_of_kopf(kube, value, expected, way):
    def register(registry):
        @kopf.on.create(*API.split("/"), "databases", registry=registry)
        def handle(patch, body, logger, **_):
            if way == "status":
                patch.status["url"] = f"postgres://admin:{value}@db"
            elif way == "log":
                logger.warning(f"using {value}")
            else:
                kopf.event(body, type="Normal", reason="Login", message=f"using {value}")

    kube.apply(SECRET)
    start_kopf(kube, register)
    assert found(kube) == expected


def test_a_secret_that_the_operator_makes_itself(kube):
    def program(api):
        secret = kubernetes.client.V1Secret(metadata={"name": "made"}, string_data={"api-token": "abc-123-def"})
        api.create_namespaced_secret("default", secret)
        log.info("not shown at this level")
        log.warning("made the token %s", "abc-123-def")

    start_program(kube, program)
    assert found(kube) == ["leaked-secret"]
