"""TLS and authentication: who gets in, and what the others are told, on our store and on a real Pravega."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pravega_lab.client import AccessOptions, AsyncClient, Client, Credentials, Stream, connect
from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.controller.grpc_link import GrpcLink
from pravega_lab.client.reader_group.opening import async_reader_group
from pravega_lab.errors import AccessDeniedError, StoreUnavailableError, TlsError
from pravega_lab.observe import observe
from pravega_lab.observe.journal.observations import SegmentOpened
from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.certificates import make_certificates
from tests.conformance.reader_group.readers import Readers, config, new_group
from tests.conformance.real_pravega import NoRealPravegaError
from tests.conformance.secure.pravega import (
    ADMIN,
    ADVERTISED,
    NAMES,
    OWNER,
    READER,
    STRANGER,
    SecurePravega,
    signed_token,
)
from tests.conformance.secure.store import SecureStore

SHORT_S = 3
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300, method="thread")]
Secure = SecurePravega | SecureStore


@pytest.fixture(scope="module")
def secure(which: str) -> Iterator[Secure]:
    try:
        server: Secure = SecureStore() if which == "embedded" else SecurePravega("768m")
        server.start()
    except NoRealPravegaError as error:
        why = f"NOT TRIED ON A REAL PRAVEGA WITH TLS AND AUTHENTICATION: {error}"
        print(why, file=sys.stderr)
        pytest.skip(why)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(secure: Secure) -> Iterator[Client]:
    with connect(secure.uri, **secure.access()) as found:
        yield found


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return client.create_stream(f"{scope_name()}/stream")


def events_of(stream: Stream) -> list[bytes]:
    with stream.read() as batches:
        return [event for batch in batches for event in batch.column("event").to_pylist()]


def numbered(n: int) -> list[bytes]:
    return [b"%d" % i for i in range(n)]


def test_write_read_scale_and_truncate(client: Client, stream: Stream) -> None:
    stream.write(numbered(500), ["key"] * 500)
    stream.split(0)
    with stream.writer() as writer:
        writer.write([b"after"] * 10, ["key"] * 10)
    assert events_of(stream) == numbered(500) + [b"after"] * 10
    stream.truncate(stream.tail())
    assert events_of(stream) == []
    assert stream.scope in client.list_scopes()


def test_transactions(stream: Stream) -> None:
    with stream.begin_transaction() as transaction:
        transaction.write(numbered(100), ["key"] * 100)
    other = stream.begin_transaction()
    other.write([b"never"])
    other.flush()
    other.abort()
    assert events_of(stream) == numbered(100)


def test_a_large_event(client: Client, stream: Stream) -> None:
    large = bytes(9_000_000)
    stream.write_large_event(large, "key")
    assert events_of(stream) == [large]


def test_table(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    client.create_scope(scope)
    table = client.table(f"{scope}/table")
    assert table.create()
    version = table.put(b"key", b"value")
    table.put(b"key", b"newer", version)
    found = table.get(b"key")
    assert found is not None
    assert found.value == b"newer"
    assert list(table.items()) == [b"key"]
    table.remove(b"key")
    assert table.delete()


def test_reader_group(client: Client, stream: Stream) -> None:
    stream.write(numbered(50), ["key"] * 50)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    assert readers.read(50) == [event.decode() for event in numbered(50)]
    checkpoint = readers.checkpoint("c1")
    assert checkpoint.stream_cuts[stream.scoped_name] == stream.tail()
    readers.close()


# credentials


def test_credentials_from_file_and_environment(
    secure: Secure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.touch(0o600)
    file.write_text(f"# of the lab\nusername={ADMIN[0]}\npassword={ADMIN[1]}\n")
    access = secure.access(None) | {"credentials_file": file}
    with connect(secure.uri, **access) as found:
        assert "_system" in found.list_scopes()
        file.write_text("method=Basic\ntoken=d3Jvbmc6b25l\n")  # read again when it changes
        with pytest.raises(AccessDeniedError, match=f"does not take the credentials in {file}"):
            found.list_scopes()
    monkeypatch.setenv("pravega_client_auth_method", "Basic")
    monkeypatch.setenv("pravega_client_auth_username", ADMIN[0])
    monkeypatch.setenv("pravega_client_auth_password", ADMIN[1])
    monkeypatch.setenv("pravega_client_tls_cert_path", str(secure.ca_file))
    monkeypatch.setenv("PRAVEGA_REWRITE", f"{ADVERTISED}=127.0.0.1")
    with connect(secure.uri) as found:
        assert "_system" in found.list_scopes()


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (None, "wants credentials, and none were given. Pass credentials="),
        ((ADMIN[0], "a wrong password"), "does not take the credentials given"),
        (("nobody", "at all"), "does not take the credentials given"),
        (Credentials.bearer("a.b.c"), "does not take the credentials given"),
    ],
)
def test_wrong_credentials_are_one_sentence_and_stay_secret(secure: Secure, who: Any, said: str) -> None:
    found = connect(secure.uri, **secure.access(who))
    with found, pytest.raises(AccessDeniedError) as caught:
        found.list_scopes()
    assert said in str(caught.value)
    text = f"{caught.value!r} {found!r} {found._core._controller.__dict__} {secure.access(who)['ca_file']}"
    secrets = ["a wrong password", "at all", "a.b.c", b64encode(b"admin:a wrong password").decode()]
    assert [secret for secret in secrets if secret in text] == []


def test_who_may_read_only(secure: Secure, stream: Stream) -> None:
    stream.write([b"1"])
    with connect(secure.uri, **secure.access(READER)) as found:
        theirs = found.stream(stream.scoped_name)
        assert events_of(theirs) == [b"1"]
        with pytest.raises(AccessDeniedError, match="do not allow this"):
            theirs.write([b"2"])
        with pytest.raises(AccessDeniedError, match="do not allow this"):
            theirs.seal()
    stream.split(0)
    stream.write([b"2"])
    stream.merge([segment.segment_id for segment in stream.segments()])
    with connect(secure.uri, **secure.access(READER)) as found:
        assert events_of(found.stream(stream.scoped_name)) == [b"1", b"2"]
    found = connect(secure.uri, **secure.access(STRANGER))
    with found, pytest.raises(AccessDeniedError, match="do not allow this"):
        events_of(found.stream(stream.scoped_name))
    assert events_of(stream) == [b"1", b"2"]


def test_a_user_of_one_scope_creates_streams_in_it(secure: Secure, client: Client) -> None:
    """To create a scope is another permission, and the scope is there."""
    with connect(secure.uri, **secure.access(OWNER)) as found:
        with pytest.raises(AccessDeniedError, match=r'createScope \(scope: "own"\).*do not allow this'):
            found.create_stream("own/stream")
        client.create_scope("own")
        try:
            mine = found.create_stream("own/stream")
            mine.write([b"1"])
            assert events_of(mine) == [b"1"]
            assert list(found.create_key_value_table("own/table", 4).entries()) == []
            with pytest.raises(AccessDeniedError, match=r"createStream.*do not allow this"):
                found.create_stream("others/stream")
        finally:
            client.delete_scope("own", recursive=True)


# delegation tokens


class OwnTokens(GrpcLink):
    """A controller whose next ``left`` delegation tokens are those of ``token``, which gets the stream."""

    def __init__(self, secure: Secure, left: int, token: Callable[[bytes, str], str]) -> None:
        dialer = Dialer(Access.of(secure.access()), is_secure=True)
        super().__init__(Endpoint("127.0.0.1", secure.controller_port), dialer)
        self.left = left
        self.asked: list[str] = []
        self._token = token
        self._key = secure.signing_key

    async def call(self, method: str, request: bytes) -> bytes:
        answer = await super().call(method, request)
        if method != "getDelegationToken":
            return answer
        asked = pb.StreamInfo.FromString(request)
        self.asked.append(pb.StreamInfo.AccessOperation.Name(asked.accessOperation))
        self.left -= 1
        if self.left < 0:
            return answer
        token = self._token(self._key, f"{asked.scope}/{asked.stream}")
        return pb.DelegationToken(delegationToken=token).SerializeToString()


def expired(key: bytes, stream: str) -> str:
    return signed_token(key, stream, 1_000_000, 1_000_600)


def short(key: bytes, stream: str) -> str:
    now_s = int(time.time())
    return signed_token(key, stream, now_s, now_s + SHORT_S)


async def writes(stream: Any) -> None:
    await stream.write([b"1", b"2"], ["key"] * 2)


async def asks(stream: Any) -> None:
    assert await stream.tail() != await stream.head()


async def reads(stream: Any) -> None:
    async with stream.read() as batches:
        found = [event async for batch in batches for event in batch.column("event").to_pylist()]
    assert found == [b"1", b"2"]


async def reads_a_segment(stream: Any) -> None:
    """Without a request before it: the released server answers with the offset in the id's place."""
    assert await stream.event_end(0, 0, 9) == 9


async def joins_a_group(stream: Any) -> None:
    group = async_reader_group(stream.client, f"{stream.scope}/g")
    assert await group.create(config(stream))
    reader = await group.create_reader("r1")
    assert (await reader.read_next(20)).event == b"1"
    await reader.close()


@pytest.mark.parametrize("does", [writes, asks, reads, reads_a_segment, joins_a_group])
def test_expired_tokens_are_fetched_again(secure: Secure, stream: Stream, does: Any) -> None:
    """The released server refuses appends, requests and reads each in a way of its own."""
    if does is not writes:
        stream.write([b"1", b"2"], ["key"] * 2)

    async def run() -> list[str]:
        link = OwnTokens(secure, 3, expired)
        async with AsyncClient(secure.uri, link=link, chance=Random(1), **secure.access()) as client:
            theirs: Any = client.stream(stream.scoped_name)
            theirs.client = client
            await does(theirs)
            assert link.left < 0, f"{link.left} old tokens were not used"
            return link.asked

    asked = asyncio.run(run())
    assert len(asked) > 3, asked
    assert events_of(stream) == [b"1", b"2"]


def test_tokens_that_expire_while_they_are_used(secure: Secure, stream: Stream) -> None:
    """A writer and a reader that stay open: the server cuts the one off and refuses the other, unseen."""

    async def run() -> list[bytes]:
        link = OwnTokens(secure, 10_000, short)
        async with AsyncClient(secure.uri, link=link, chance=Random(1), **secure.access()) as client:
            theirs = client.stream(stream.scoped_name)
            found: list[bytes] = []
            async with theirs.writer() as writer, theirs.follow() as batches:
                for round_ in range(3):
                    await writer.write([b"%d" % i for i in range(100 * round_, 100 * round_ + 100)], "key")
                    await writer.flush()
                    while len(found) < 100 * (round_ + 1):
                        batch = await batches.next_batch(60)
                        assert batch is not None, f"{len(found)} events, then nothing"
                        found += batch.column("event").to_pylist()
                    await asyncio.sleep(SHORT_S + 1)
            assert len(link.asked) > 4, link.asked
            return found

    assert asyncio.run(run()) == numbered(300)
    assert events_of(stream) == numbered(300)


def test_a_token_that_stays_expired_ends_in_words(secure: Secure, stream: Stream) -> None:
    async def run() -> None:
        link = OwnTokens(secure, 10_000, expired)
        client = AsyncClient(secure.uri, link=link, retry_for_s=2.0, **secure.access())
        async with client:
            with pytest.raises(StoreUnavailableError, match="delegation token expired"):
                await client.stream(stream.scoped_name).tail()

    asyncio.run(run())


# TLS


def told(uri: str, access: AccessOptions) -> str:
    """The one sentence that ends the first call."""
    found = connect(uri, **access)
    with found, pytest.raises(TlsError) as caught:
        found.list_scopes()
    return str(caught.value)


def test_the_wrong_authority(secure: Secure, tmp_path: Path) -> None:
    other = make_certificates(tmp_path, NAMES)
    sentence = told(secure.uri, secure.access() | {"ca_file": other})
    assert f"is not signed by {other}" in sentence
    assert "Pass ca_file=" in sentence
    sentence = told(secure.uri, secure.access() | {"ca_file": None})
    assert "is not signed by an authority that this system trusts" in sentence


def test_a_host_that_the_certificate_does_not_name(secure: Secure) -> None:
    uri = secure.uri.replace("127.0.0.1", "127.0.0.2")
    sentence = told(uri, secure.access())
    assert "is not for 127.0.0.2" in sentence
    assert "validate_host_name=False" in sentence
    with connect(uri, **secure.access() | {"validate_host_name": False}) as found:
        assert "_system" in found.list_scopes()
    rewrite = {"localhost": "127.0.0.2", ADVERTISED: "127.0.0.1"}
    uri = secure.uri.replace("127.0.0.1", "localhost")
    with connect(uri, **secure.access() | {"rewrite": rewrite}) as found:  # it names what was asked for
        assert "_system" in found.list_scopes()


def test_plain_where_tls_is_spoken(secure: Secure) -> None:
    assert f"speaks TLS. Write {secure.uri}" in told(secure.uri.replace("tls", "tcp"), secure.access())


def test_tls_where_none_is_spoken(uri: str, secure: Secure) -> None:
    sentence = told(uri.replace("tcp", "tls"), secure.access())
    assert "does not speak TLS" in sentence
    assert "Write tcp://" in sentence


# observers


def test_an_observer_may_only_look_and_keeps_no_secret(
    secure: Secure, stream: Stream, tmp_path: Path
) -> None:
    stream.write(numbered(20), ["key"] * 20)
    readers = Readers(new_group(stream.client, stream)).add("r1")
    readers.read(20)
    stream.split(0)
    with observe(
        secure.uri, stream=stream.scoped_name, group=f"{stream.scope}/g", **secure.access(READER)
    ) as watch:
        assert watch.look(60)
        assert watch.trouble == []
        opened = [o for o in watch.since() if isinstance(o, SegmentOpened)]
        assert sorted(o.segment_id for o in opened) == sorted([0, *(s.segment_id for s in stream.segments())])
        text = watch.save(tmp_path / "journal").read_bytes().decode(errors="replace") + repr(watch)
    readers.close()
    assert [word for word in (READER[1], "Basic", "eyJ") if word in text] == []  # "eyJ" begins a JWT


# names


def test_an_unreachable_store_is_named_and_rewrite_mends_it(secure: Secure, stream: Stream) -> None:
    stream.write([b"1"])
    found = connect(secure.uri, retry_for_s=1.0, **secure.access() | {"rewrite": {}})
    with found, pytest.raises(StoreUnavailableError) as caught:
        events_of(found.stream(stream.scoped_name))
    port = secure.store_port
    assert f"segment store {ADVERTISED}:{port}, as the controller advertises it" in str(caught.value)
    assert f"--rewrite {ADVERTISED}=reachable-host" in str(caught.value)
    mended = secure.access() | {"rewrite": {f"{ADVERTISED}:{port}": f"localhost:{port}"}}
    with connect(secure.uri, retry_for_s=1.0, **mended) as found:
        assert events_of(found.stream(stream.scoped_name)) == [b"1"]


def test_the_options_of_a_stream_are_no_secrets(stream: Stream, secure: Secure) -> None:
    assert stream.options() == {
        "controller": secure.uri,
        "scope": stream.scope,
        "stream": "stream",
        "ca_file": str(secure.ca_file),
        "rewrite": f"{ADVERTISED}=127.0.0.1",
    }


def test_nothing_of_all_this_changes_a_client_without(uri: str, scope_name: Callable[[], str]) -> None:
    with connect(uri, credentials=ADMIN) as found:  # the server has no use for them
        made = found.create_stream(f"{scope_name()}/stream")
        made.write([b"1"])
        assert events_of(made) == [b"1"]


@pytest.mark.spark
@pytest.mark.timeout(600, method="thread")
@pytest.mark.parametrize(
    ("which", "given_by"),
    [
        ("embedded", "argument"),
        pytest.param("real", "file", marks=pytest.mark.real_pravega),
    ],
    indirect=["which"],
)
def test_spark_reads_and_writes_and_shows_no_secret(
    secure: Secure, stream: Stream, tmp_path: Path, given_by: str
) -> None:
    """An argument of the lab reaches the workers by their environment alone, a file by its name."""
    stream.write(numbered(100), ["key"] * 100)
    access: dict[str, Any] = {**secure.access(), "ca_file": str(secure.ca_file)}
    if given_by == "file":
        user, word = access.pop("credentials")
        (tmp_path / "credentials").touch(0o600)
        (tmp_path / "credentials").write_text(f"username={user}\npassword={word}\n")
        access["credentials_file"] = str(tmp_path / "credentials")
    given = {"uri": secure.uri, "access": access, "name": stream.scoped_name}
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.secure.spark"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["events"] == found["copy"] == [event.decode() for event in numbered(100)]
    password = ADMIN[1]
    for secret in (password, b64encode(":".join(ADMIN).encode()).decode()):
        assert secret not in done.stdout + done.stderr
