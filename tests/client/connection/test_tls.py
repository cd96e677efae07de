"""TLS to controller and segment stores, on the embedded store behind proxies that speak it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pravega_lab.client import AccessOptions, Client, Stream, connect
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.errors import BadInputError, StoreUnavailableError, TlsError
from tests.certificates import NoToolError, make_certificates
from tests.client.connection.tls_proxy import TlsProxy
from tests.client.helpers import events_of


class Behind(NamedTuple):
    """The embedded store behind TLS."""

    uri: str
    ca_file: Path
    store_port: int
    controller: TlsProxy
    segment_store: TlsProxy

    def access(self) -> AccessOptions:
        rewrite = {f"127.0.0.1:{self.store_port}": f"127.0.0.1:{self.segment_store.port}"}
        return {"ca_file": self.ca_file, "rewrite": rewrite}


@pytest.fixture(scope="module")
def behind(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("certificates")
    try:
        ca_file = make_certificates(folder, ["DNS:localhost", "DNS:*.lab.test", "IP:127.0.0.1"])
    except NoToolError as error:
        print(f"TLS NOT TRIED: {error}", file=sys.stderr)
        pytest.skip(f"TLS NOT TRIED: {error}")
    with connect(store) as client:
        stream = client.create_stream("tls/probe")
        endpoint = loop_thread().run(client._core._controller.endpoint(stream.scoped_name, 0))
    controller_port = int(store.rpartition(":")[2])
    with TlsProxy(folder, controller_port) as first, TlsProxy(folder, endpoint.port) as second:
        yield Behind(f"tls://127.0.0.1:{first.port}", ca_file, endpoint.port, first, second)


@pytest.fixture
def stream(behind: Behind, scope_name: Callable[[], str]) -> Iterator[Stream]:
    with connect(behind.uri, **behind.access()) as client:
        yield client.create_stream(f"{scope_name()}/stream")


def told(uri: str, access: AccessOptions) -> str:
    client = connect(uri, **access)
    with client, pytest.raises(TlsError) as caught:
        client.list_scopes()
    return str(caught.value)


def test_everything_goes_through_tls(behind: Behind, stream: Stream) -> None:
    before = behind.segment_store.connections
    events = [b"%d" % i * 1000 for i in range(2000)]  # reads above the sizes of TLS records and of frames
    stream.write(events, ["key"] * len(events))
    with stream.begin_transaction() as transaction:
        transaction.write([b"last"], ["key"])
    with stream.read() as batches:
        assert events_of(batches) == [*events, b"last"]
    assert behind.segment_store.connections > before


def test_a_folder_of_certificates(behind: Behind, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = make_certificates(tmp_path / "other", ["DNS:other"])
    (tmp_path / "both").mkdir()
    for i, file in enumerate((other, behind.ca_file)):
        (tmp_path / "both" / f"{i}.pem").write_bytes(file.read_bytes())
    with connect(behind.uri, **behind.access() | {"ca_file": tmp_path / "both"}) as client:
        assert "tls" in client.list_scopes()
    assert f"is not signed by {other}" in told(behind.uri, behind.access() | {"ca_file": other})


def test_a_servers_own_certificate_is_trusted_too(behind: Behind, stream: Stream) -> None:
    own = behind.ca_file.with_name("server.crt")
    with connect(behind.uri, **behind.access() | {"ca_file": own}) as client:
        assert client.stream(stream.scoped_name).tail() == stream.tail()


def test_names_that_the_certificate_has(behind: Behind) -> None:
    port = behind.controller.port
    for name in ("controller.lab.test", "localhost"):
        rewrite = {**(behind.access()["rewrite"] or {}), name: "127.0.0.1"}
        with connect(f"tls://{name}:{port}", **behind.access() | {"rewrite": rewrite}) as client:
            assert "tls" in client.list_scopes()
    rewrite = {"unheard-of.test": "127.0.0.1"}  # the certificate has what it was rewritten to
    with connect(f"tls://unheard-of.test:{port}", **behind.access() | {"rewrite": rewrite}) as client:
        assert "tls" in client.list_scopes()


def test_a_certificate_for_other_hosts(behind: Behind, store: str, stream: Stream, tmp_path: Path) -> None:
    ca_file = make_certificates(tmp_path, ["DNS:*.elsewhere.test"])
    with (
        TlsProxy(tmp_path, int(store.rpartition(":")[2])) as controller,
        TlsProxy(tmp_path, behind.store_port) as segment_store,
    ):
        uri = f"tls://127.0.0.1:{controller.port}"
        rewrite = {f"127.0.0.1:{behind.store_port}": f"127.0.0.1:{segment_store.port}"}
        access: AccessOptions = {"ca_file": ca_file, "rewrite": rewrite}
        sentence = told(uri, access)
        assert "is not for 127.0.0.1" in sentence
        assert "validate_host_name=False" in sentence
        with connect(uri, **access | {"validate_host_name": False}) as client:
            theirs = client.stream(stream.scoped_name)
            theirs.write([b"1"])
            with theirs.read() as batches:
                assert events_of(batches) == [b"1"]
        assert "is not signed by" in told(uri, {**behind.access(), "validate_host_name": False})


def test_a_segment_store_with_another_authority(behind: Behind, stream: Stream, tmp_path: Path) -> None:
    make_certificates(tmp_path, ["IP:127.0.0.1"])
    with TlsProxy(tmp_path, behind.store_port) as other:
        rewrite = {f"127.0.0.1:{behind.store_port}": f"127.0.0.1:{other.port}"}
        client = connect(behind.uri, **behind.access() | {"rewrite": rewrite})
        with client, pytest.raises(TlsError) as caught:
            client.stream(stream.scoped_name).tail()
    assert f"the certificate of 127.0.0.1:{behind.store_port} is not signed by" in str(caught.value)


def test_a_segment_store_without_tls(behind: Behind, stream: Stream) -> None:
    client = connect(behind.uri, retry_for_s=1.0, **behind.access() | {"rewrite": {}})
    with client, pytest.raises((TlsError, StoreUnavailableError)) as caught:
        client.stream(stream.scoped_name).tail()
    assert f"127.0.0.1:{behind.store_port}" in str(caught.value)


def test_one_side_only(store: str, behind: Behind) -> None:
    assert "does not speak TLS" in told(store.replace("tcp", "tls"), behind.access())
    plain = behind.uri.replace("tls", "tcp")
    assert f"speaks TLS. Write {behind.uri}" in told(plain, behind.access())


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"]
)
def test_a_file_that_is_no_certificate(behind: Behind, tmp_path: Path, text: str) -> None:
    (tmp_path / "ca").write_text(text)
    client: Client = connect(behind.uri, ca_file=tmp_path / "ca")
    with client, pytest.raises(BadInputError, match="certificate"):
        client.list_scopes()
