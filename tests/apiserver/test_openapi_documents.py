"""The OpenAPI documents of a server whose parts are small."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.openapi import documents, gnostic
from fakekube.apiserver.openapi.parts import Part

PARTS = [
    {"paths": {"/b": {"get": {"description": "b"}}}, "definitions": {"B": {"type": "object"}}, "parameters": {}},
    {"paths": {"/a": {"get": {"description": "a"}}}, "definitions": {"A": {"type": "string"}}, "parameters": {}},
]
SECURITY = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication"}}  # fmt: skip


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(documents, "parts_2", lambda server: map(Part, PARTS))
    remote = {2: {}, 3: {"apis/remote.example.com/v1": {"openapi": "3.0.0", "paths": {}}}}
    return SimpleNamespace(
        version={"major": "1", "minor": "36"}, catalog=SimpleNamespace(remote_documents=remote.__getitem__)
    )


def test_version_2_in_protobuf_has_the_head_and_all_parts_by_name(server):
    merged = {key: {**PARTS[1][key], **PARTS[0][key]} for key in ("paths", "definitions", "parameters")}
    head = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.36"}}
    security = {"securityDefinitions": SECURITY, "security": [{"BearerToken": []}]}
    assert documents.version_2_in_protobuf(server) == gnostic.encode({**head, **merged, **security})


def test_the_document_of_an_aggregated_server_is_its_own(server):
    assert documents.version_3(server, "apis/remote.example.com/v1") == {"openapi": "3.0.0", "paths": {}}
