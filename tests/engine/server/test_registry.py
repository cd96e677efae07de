"""The REST port of the schema registry: the recording over HTTP, kills, users, and malformed input."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from pravega_lab.client.registry import SchemaRegistry
from pravega_lab.engine.registry.registry import Registry
from pravega_lab.engine.registry.requests import Answer
from pravega_lab.engine.server.monitoring.admin_port import AdminPort
from pravega_lab.engine.server.registry import port as port_module
from pravega_lab.engine.server.registry.http import BODY_BYTES_MAX, HttpRequest
from pravega_lab.engine.server.registry.port import RegistryPort
from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.store.security.passwords import password_line
from pravega_lab.errors import AccessDeniedError, TlsError
from tests.certificates import make_certificates
from tests.engine.registry.recording import Exchange, answered, comparable, exchanges
from tests.engine.server.test_runner import SmallDisk, running
from tests.standalone import Standalone, StandaloneFailedError, logged_url

TIMEOUT_S = 30
GROUP = {
    "serializationFormat": {"serializationFormat": "Avro"},
    "compatibility": {"policy": "AllowAny"},
    "allowMultipleTypes": True,
}


class Rest:
    """Calls over one connection, which is opened again when it ended."""

    def __init__(self, url: str, user: tuple[str, str] | None = None) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_S)
        self._headers = {}
        if user is not None:
            self._headers = {"Authorization": f"Basic {base64.b64encode(':'.join(user).encode()).decode()}"}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, Any]:
        """Status, body and headers."""
        encoded = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, encoded, {**kind, **self._headers, **headers})
        answer = self._connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def replay(self, one: Exchange) -> tuple[int, str, Any]:
        asked = one.request
        query = f"?{urlencode(asked.query)}" if asked.query else ""
        headers = {"Content-Type": asked.content_type, "Accept": asked.accept or "*/*"}
        return self.call(asked.method, asked.path + query, asked.body or None, **headers)

    def close(self) -> None:
        self._connection.close()


def schema(number: int) -> dict[str, Any]:
    text = json.dumps({"type": "record", "name": f"R{number}", "fields": []})
    data = base64.b64encode(text.encode()).decode()
    return {"type": "", "serializationFormat": GROUP["serializationFormat"], "schemaData": data}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = Standalone("--memory", "--registry-port", "0")
    with store:
        yield logged_url(store, "registry_open")


def test_the_recording_over_http(url: str) -> None:
    registry, rest = Registry(), Rest(url)
    for number, one in enumerate(o for o in exchanges() if not o.number.startswith("P")):
        decision = registry.decide(one.request, now_ms=number)
        registry.apply(decision.records)
        status, body, headers = rest.replay(one)
        said = comparable(status, body, {"Allow": headers["Allow"] or ""})
        assert said == answered(decision.answer), one.name
    rest.close()


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path / "store"), "--registry-port", "0")
    store.start()
    rest = Rest(logged_url(store, "registry_open"))
    assert rest.call("POST", "/v1/groups", {"groupName": "g", "groupProperties": GROUP})[0] == 201
    acknowledged: list[dict[str, Any]] = []
    enough = threading.Event()

    def add() -> None:
        try:
            while True:
                status, body, _ = rest.call("POST", "/v1/groups/g/schemas", schema(len(acknowledged)))
                assert status == 201
                acknowledged.append(json.loads(body))
                if len(acknowledged) >= 100:
                    enough.set()
        except (OSError, http.client.HTTPException):
            pass  # killed

    adding = threading.Thread(target=add)
    adding.start()
    assert enough.wait(TIMEOUT_S)
    store.kill()
    adding.join(TIMEOUT_S)
    again = Standalone("--data", str(tmp_path / "store"), "--registry-port", "0")
    with again:
        rest = Rest(logged_url(again, "registry_open"))
        found = json.loads(rest.call("GET", "/v1/groups/g/schemas/versions")[1])["schemas"]
        kept = [one["versionInfo"] for one in found]
        assert kept[: len(acknowledged)] == acknowledged
        assert len(kept) - len(acknowledged) in (0, 1)  # the one whose answer was lost
        assert json.loads(rest.call("POST", "/v1/groups/g/schemas", schema(0))[1]) == acknowledged[0]
        status, body, _ = rest.call("POST", "/v1/groups/g/schemas", schema(10**6))
        assert (status, json.loads(body)["id"]) == (201, len(kept))
        rest.close()


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("users") / "users"
    file.touch(0o600)
    acls = {
        "admin": "prn::*,READ_UPDATE",
        "ann": "prn::/namespace:a,READ;prn::/namespace:a/group:*,READ",
        "bob": "prn::/namespace:a/group:g/schemas:*,READ_UPDATE;prn::/namespace:a/group:g,READ",
    }
    lines = [password_line(name, f"of {name}", acl, b"salt" * 8, 1000) for name, acl in acls.items()]
    file.write_text("\n".join(lines) + "\n")
    store = Standalone("--memory", "--registry-port", "0", "--password-file", str(file))
    with store:
        url = logged_url(store, "registry_open")
        admin = Rest(url, ("admin", "of admin"))
        for namespace, group in (("a", "g"), ("a", "h"), ("b", "g")):
            given = {"groupName": group, "groupProperties": GROUP}
            assert admin.call("POST", f"/v1/groups?namespace={namespace}", given)[0] == 201
        yield url


@pytest.mark.parametrize("user", [None, ("ann", "wrong"), ("nobody", "of admin")])
def test_without_credentials_nothing_but_ping_is_answered(users: str, user: tuple[str, str] | None) -> None:
    rest = Rest(users, user)
    for method, path in (("GET", "/v1/groups"), ("GET", "/v1/nothing"), ("DELETE", "/v1/groups/g")):
        status, _, headers = rest.call(method, path)
        assert (status, headers["WWW-Authenticate"]) == (401, 'Basic realm="pravega"')
    assert Rest(users).call("GET", "/ping")[0] == 200


def test_each_user_may_do_what_the_permissions_say(users: str) -> None:
    ann, bob = Rest(users, ("ann", "of ann")), Rest(users, ("bob", "of bob"))
    groups = "/v1/groups?namespace=a"
    assert set(json.loads(ann.call("GET", groups)[1])["groups"]) == {"g", "h"}
    status, text, _ = bob.call("GET", groups)
    assert (status, "READ on prn::/namespace:a" in text) == (403, True)
    assert ann.call("GET", "/v1/groups/g?namespace=b")[0] == 403
    assert ann.call("GET", "/v1/groups/nope?namespace=a")[0] == 404
    for method, path, body in (
        ("POST", "/v1/groups?namespace=a", {"groupName": "x", "groupProperties": GROUP}),
        ("DELETE", "/v1/groups/g?namespace=a", None),
        ("POST", "/v1/groups/g/schemas?namespace=a", schema(1)),
        ("POST", "/v1/groups/g/codecTypes?namespace=a", {"name": "x"}),
        ("PUT", "/v1/groups/g/encodings?namespace=a", {}),
        ("PUT", "/v1/groups/g/compatibility?namespace=a", {"compatibility": {"policy": "DenyAll"}}),
    ):
        status, text, _ = ann.call(method, path, body)
        assert (status, "READ_UPDATE on prn::/namespace:a" in text) == (403, True), path
    assert bob.call("POST", "/v1/groups/g/schemas?namespace=a", schema(1))[0] == 201
    assert bob.call("POST", "/v1/groups/h/schemas?namespace=a", schema(1))[0] == 403
    added = ann.call("POST", "/v1/schemas/addedTo?namespace=a", schema(1))
    assert set(json.loads(added[1])["groups"]) == {"g"}


def test_malformed_json_and_schemas_are_refused_in_words(url: str) -> None:
    rest = Rest(url)
    assert rest.call("POST", "/v1/groups", {"groupName": "words", "groupProperties": GROUP})[0] == 201
    nested = b"[" * 100_000
    deep = {**schema(0), "schemaData": base64.b64encode(b'{"type":' * 50_000).decode()}
    for path, body, words in (
        ("/v1/groups", b"{", "no JSON"),
        ("/v1/groups", b"\xff", "no JSON"),
        ("/v1/groups", nested, "body is"),
        ("/v1/groups", b"[]", "no JSON object"),
        ("/v1/groups", {"groupName": "x" * 2000, "groupProperties": GROUP}, "1 to 1024 letters"),
        ("/v1/groups/words/schemas", deep, "Unable to parse schema"),
        ("/v1/groups/words/schemas", {**schema(0), "type": 7}, "type cannot be null"),
        ("/v1/groups/words/schemas", {**schema(0), "properties": {"a": 1}}, "members are texts"),
    ):
        status, text, _ = rest.call("POST", path, body)
        assert (status, words in text) == (400, True), (path, text)
    assert rest.call("GET", "/v1/groups/words/schemas")[1] == '{"schemas":[]}'
    rest.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /ping\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\r\nnonsense\r\n\r\n", 400),
        (b"GET /ping HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"POST /v1/groups HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v1/groups HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1), 413),
        (b"POST /v1/groups HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 413),
        *(
            (b"POST /v1/groups HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 400)
            for chunks in (
                b"zz\r\n",
                b"-1\r\n\r\n",
                b"0x2\r\n{}\r\n0\r\n\r\n",
                b"2\r\n{}!!0\r\n\r\n",
                b"2;" + b"x" * 40_000,
                b"0\r\nX: " + b"x" * 40_000,
            )
        ),
        (b"POST /v1/groups HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_gets_an_answer_and_an_end(url: str, sent: bytes, status: int) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), TIMEOUT_S) as connection:
        connection.sendall(sent)
        received = b""
        while part := connection.recv(4096):
            received += part
    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close" in received


def test_chunks_head_and_expectations(url: str) -> None:
    parts = urlsplit(url)
    body = json.dumps({"groupName": "chunks", "groupProperties": GROUP}).encode()
    head = b"POST /v1/groups HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    sent = head + b"Transfer-Encoding: chunked\r\n\r\n"
    for at in range(0, len(body), 50):
        sent += b"%x\r\n%s\r\n" % (len(body[at : at + 50]), body[at : at + 50])
    sent += b"0\r\n\r\nHEAD /v1/groups/chunks HTTP/1.1\r\n\r\nGET /ping HTTP/1.0\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), TIMEOUT_S) as connection:
        connection.sendall(sent)
        received = b""
        while part := connection.recv(4096):
            received += part
    statuses = [line.split()[1] for line in received.split(b"\r\n") if line.startswith(b"HTTP/")]
    assert statuses == [b"100", b"201", b"200", b"200"]
    assert b'"serializationFormat"' not in received  # the answer to HEAD has no body


def test_a_port_in_use_is_named(url: str) -> None:
    number = str(urlsplit(url).port)
    with pytest.raises(StandaloneFailedError, match=f"registry cannot listen on 127.0.0.1:{number}"):
        Standalone("--memory", "--registry-port", number).start()


def asked(method: str, path: str, body: Any = None) -> HttpRequest:
    encoded = b"" if body is None else json.dumps(body).encode()
    return HttpRequest(method, path, {}, {"content-type": "application/json"}, encoded, False)


def test_a_full_disk_refuses_what_grows_and_takes_deletions() -> None:
    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        port = RegistryPort(runner, None)

        async def create(number: int) -> Answer:
            body = {"groupName": f"g{number}", "groupProperties": GROUP}
            return await port.answer(asked("POST", "/v1/groups", body))

        disk.files_left = 9
        given = {"groupName": "encoded", "groupProperties": GROUP}
        assert (await port.answer(asked("POST", "/v1/groups", given))).status == 201
        added = await port.answer(asked("POST", "/v1/groups/encoded/schemas", schema(0)))
        encoding = {"versionInfo": json.loads(added.body), "codecType": ""}
        assert (await port.answer(asked("PUT", "/v1/groups/encoded/encodings", encoding))).status == 200
        disk.files_left = created = 0
        while (answer := await create(created)).status == 201:
            created += 1
        assert (answer.status, b"full" in answer.body) == (507, True)
        assert created
        listed = await port.answer(asked("GET", "/v1/groups"))
        # with the one that has an encoding, and not the one that was refused
        assert len(json.loads(listed.body)["groups"]) == created + 1
        assert (await port.answer(asked("DELETE", "/v1/groups/encoded"))).status == 204
        assert (await port.answer(asked("DELETE", "/v1/groups/g0"))).status == 204
        disk.files_left = 9
        while (answer := await create(created)).status == 507:
            await asyncio.sleep(0.05)  # until the store has noticed that there is room
        assert answer.status == 201
        listed = await port.answer(asked("GET", "/v1/groups"))
        assert len(json.loads(listed.body)["groups"]) == created

    running(story)


def test_nothing_is_acknowledged_by_a_store_that_cannot_write() -> None:
    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        port = RegistryPort(runner, None)
        disk.broken = True
        body = {"groupName": "g", "groupProperties": GROUP}
        together = [port.answer(asked("POST", "/v1/groups", body)), port.answer(asked("GET", "/v1/groups/g"))]
        for answer in await asyncio.gather(*together):
            assert (answer.status, b"look it up" in answer.body) == (503, True)
        assert (await port.answer(asked("GET", "/v1/groups/g"))).status == 503

    running(story)


def test_a_client_that_takes_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it counts as a connection: clients that take nothing hold no more memory than the others."""
    monkeypatch.setattr(port_module, "REQUEST_S", 0.1)
    large = Answer(200, bytes(32 << 20))

    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        port = RegistryPort(runner, None)

        async def answer(request: HttpRequest, address: str = "") -> Answer:
            return large

        monkeypatch.setattr(port, "answer", answer)
        async with await port.listen("127.0.0.1", 0, None) as server:
            assert await bytes_after_the_cut(port, server, "/v1/groups") < len(large.body)

    running(story)


async def bytes_after_the_cut(port: RegistryPort | AdminPort, server: asyncio.Server, path: str) -> int:
    """Ask for a path, take nothing until the port has dropped the connection, and return what comes then."""
    with socket.create_connection(server.sockets[0].getsockname(), TIMEOUT_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        while not port._connections:
            await asyncio.sleep(0.001)
        while port._connections:
            await asyncio.sleep(0.001)
        return await asyncio.to_thread(_bytes_until_the_end, connection)


def _bytes_until_the_end(connection: socket.socket) -> int:
    found = 0
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 20):
            found += len(part)
    return found


@pytest.mark.slow
def test_tls_with_the_certificate_of_the_store(tmp_path: Path) -> None:
    ca_file = make_certificates(tmp_path, ["DNS:localhost"])
    (tmp_path / "server.key").chmod(0o600)
    users = tmp_path / "users"
    users.touch(0o600)
    users.write_text(password_line("ann", "secret", "prn::*,READ_UPDATE", b"salt" * 8, 1000) + "\n")
    options = ("--tls-cert", str(tmp_path / "server.crt"), "--tls-key", str(tmp_path / "server.key"))
    store = Standalone("--memory", "--registry-port", "0", "--password-file", str(users), *options)
    with store:
        url = logged_url(store, "registry_open")
        assert url.startswith("https://localhost:")
        registry = SchemaRegistry(url, ca_file=ca_file, credentials=("ann", "secret"))
        assert registry.create_group("g", "Avro")
        assert set(registry.list_groups()) == {"g"}
        with pytest.raises(AccessDeniedError, match="401"):
            SchemaRegistry(url, ca_file=ca_file, credentials=("ann", "wrong")).list_groups()
        with pytest.raises(TlsError, match="not signed by"):
            SchemaRegistry(url, credentials=("ann", "secret")).list_groups()
        with pytest.raises(TlsError, match=f"speaks TLS. Write {url}"):
            SchemaRegistry(url.replace("https", "http"), timeout_s=2).list_groups()
