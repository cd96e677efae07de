"""A group that is deleted and created again: its encoding ids continue, also after a restart."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pravega_lab.engine.registry.registry import Registry
from pravega_lab.engine.registry.requests import Answer, Request

AVRO = {"serializationFormat": "Avro"}
PROPERTIES = {
    "serializationFormat": AVRO,
    "compatibility": {"policy": "AllowAny"},
    "allowMultipleTypes": True,
}


class Store:
    """A registry with the records that it keeps. With ``restarts``, it starts again before each call."""

    def __init__(self, *, restarts: bool) -> None:
        self.kept: dict[str, bytes] = {}
        self._registry = Registry()
        self._restarts = restarts

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        if self._restarts:
            self._registry = Registry(self.kept.items())
        encoded = b"" if body is None else json.dumps(body).encode()
        request = Request(method, f"/v1/groups{path}", {}, encoded, "application/json", "")
        answer, records = self._registry.decide(request, now_ms=0)
        self._registry.apply(records)
        self.kept |= {key: value for key, value in records if value is not None}
        for key, value in records:
            if value is None:
                del self.kept[key]
        return answer

    def create(self, group: str) -> None:
        assert self.call("POST", "", {"groupName": group, "groupProperties": PROPERTIES}).status == 201

    def encode(self, group: str, name: str) -> int:
        """Add a schema and return its encoding id."""
        text = json.dumps({"type": "record", "name": name, "fields": []})
        data = base64.b64encode(text.encode()).decode()
        schema = {"type": "", "serializationFormat": AVRO, "schemaData": data}
        version = json.loads(self.call("POST", f"/{group}/schemas", schema).body)
        asked = {"versionInfo": version, "codecType": ""}
        return int(json.loads(self.call("PUT", f"/{group}/encodings", asked).body)["encodingId"])

    def named(self, group: str, encoding: int) -> str | None:
        """Return the name of the schema of an encoding id, None if the group does not have the id."""
        answer = self.call("GET", f"/{group}/encodings/{encoding}")
        return json.loads(answer.body)["versionInfo"]["type"] if answer.status == 200 else None


@pytest.mark.parametrize("restarts", [False, True])
def test_the_encoding_ids_of_a_group_continue_in_its_successors(restarts: bool) -> None:
    store = Store(restarts=restarts)
    store.create("g")
    assert [store.encode("g", name) for name in "ab"] == [0, 1]
    store.call("DELETE", "/g")
    store.create("g")
    assert [store.encode("g", name) for name in "cd"] == [2, 3]
    assert [store.named("g", encoding) for encoding in range(5)] == [None, None, "c", "d", None]
    assert store.encode("g", "c") == 2
    store.call("DELETE", "/g")
    store.create("g")  # and it is deleted without an encoding of its own
    store.call("DELETE", "/g")
    store.create("other")
    assert store.encode("other", "a") == 0
    store.create("g")
    assert store.encode("g", "e") == 4


def test_a_deleted_group_leaves_one_record_until_its_name_is_used_again() -> None:
    store = Store(restarts=False)
    store.create("empty")
    store.call("DELETE", "/empty")
    assert list(store.kept) == ["registry/created"]
    store.create("g")
    store.encode("g", "a")
    store.call("DELETE", "/g")
    assert [key.split("/")[1] for key in store.kept] == ["created", "ended"]
    store.create("g")
    assert [key.split("/")[1] for key in store.kept] == ["created", "group"]
