"""The client of a schema registry: what fails, and the codecs and formats by themselves.

What works is in `tests/conformance/registry`, on the embedded registry and on a released one.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.client.registry import GZIP, NO_CODEC, SNAPPY, SchemaRegistry, Serializer, avro_schema
from pravega_lab.client.registry.rest import ANSWER_BYTES_MAX
from pravega_lab.client.registry.serializers import codecs
from pravega_lab.errors import BadInputError, Definite, RegistryUnavailableError, TlsError
from pravega_lab.protocol.avro.datum import read_datum, write_datum
from pravega_lab.protocol.avro.schema import parse_schema
from pravega_lab.protocol.registry.header import encode_header, encoding_id_of
from tests.certificates import make_certificates

USER = avro_schema({"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]})


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_an_unreachable_registry_is_named_at_once(nobody: str) -> None:
    with pytest.raises(RegistryUnavailableError, match=f"registry at {nobody} does not answer") as raised:
        SchemaRegistry(nobody).list_groups()
    assert raised.value.definite is Definite.NO
    with pytest.raises(RegistryUnavailableError, match=nobody):
        Serializer(SchemaRegistry(nobody), "g", USER).serialize({"id": 1})


def test_a_registry_that_never_answers_is_named_when_the_time_is_over(silent: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(
        RegistryUnavailableError, match=f"{silent} does not answer: no answer within 0.2 s"
    ) as raised:
        SchemaRegistry(silent, timeout_s=0.2).group_properties("g")
    assert raised.value.definite is Definite.UNKNOWN
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (ANSWER_BYTES_MAX + 1),
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_answer_of_a_registry_is_reported_with_its_address(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                server.close()  # a probe for TLS is refused at once
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(RegistryUnavailableError, match=uri):
            SchemaRegistry(uri).group_properties("g")
        thread.join()


def test_a_port_that_hangs_up_is_not_called_a_count_of_bytes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            with connection:
                server.close()
                connection.recv(4096)

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(RegistryUnavailableError, match="it hung up before the end of an HTTP answer"):
            SchemaRegistry(f"http://127.0.0.1:{server.getsockname()[1]}").list_groups()
        thread.join()


def test_a_registry_that_speaks_tls_is_named(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["IP:127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in ("the call", "the probe"):
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        host = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(TlsError, match=f"^{host} speaks TLS. Write https://{host}, and give ca_file="):
            SchemaRegistry(f"http://{host}").list_groups()
        thread.join()


def test_an_unknown_policy_is_refused_with_the_known_ones(nobody: str) -> None:
    with pytest.raises(BadInputError, match=r"policy 'backward' is not one of AllowAny, .*, Backward, "):
        SchemaRegistry(nobody).create_group("g", "Avro", "backward")


@pytest.mark.parametrize(
    "uri", ["", "localhost:9092", "tcp://localhost:9092", "http://", "http://a:b", "http://a/b"]
)
def test_an_address_says_what_it_should_be(uri: str) -> None:
    with pytest.raises(BadInputError, match="write http://host:port"):
        SchemaRegistry(uri)


def test_credentials_do_not_cross_the_network_in_clear() -> None:
    with pytest.raises(BadInputError, match="in clear"):
        SchemaRegistry("http://registry.example.org", credentials=("ann", "secret"))
    SchemaRegistry("https://registry.example.org", credentials=("ann", "secret"))


def test_credentials_that_cannot_be_read_any_more_are_not_taken_for_a_silent_registry(
    silent: str, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    file.touch(0o600)
    file.write_text("username=ann\npassword=secret\n")
    registry = SchemaRegistry(silent, credentials_file=file)
    file.unlink()
    with pytest.raises(BadInputError, match="credentials file"):
        registry.list_groups()


def test_headers() -> None:
    assert encode_header(258) == b"\x01\x00\x00\x01\x02"
    assert encoding_id_of(b"\x01\x00\x00\x01\x02body") == 258
    for event in (b"", b"\x01\x00\x00\x00", b"\x02\x00\x00\x00\x00body", b'{"a": 1}'):
        with pytest.raises(BadInputError, match="no header"):
            encoding_id_of(event)


@pytest.mark.parametrize("codec", [NO_CODEC, GZIP, SNAPPY])
@given(body=st.binary())
def test_codecs_return_what_they_were_given(codec: str, body: bytes) -> None:
    assert codecs.decode(codec, codecs.encode(codec, body)) == body


@pytest.mark.parametrize("codec", [GZIP, SNAPPY])
@given(body=st.binary(max_size=64))
def test_any_bytes_are_a_body_or_one_error(codec: str, body: bytes) -> None:
    with suppress(BadInputError):
        codecs.decode(codec, body)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY])
def test_a_body_that_stands_for_too_many_bytes_is_refused(codec: str) -> None:
    bomb = codecs.encode(codec, bytes(codecs.DECODED_BYTES_MAX + 1))
    with pytest.raises(BadInputError, match="stands for more than"):
        codecs.decode(codec, bomb)


def test_an_unknown_codec_is_named() -> None:
    with pytest.raises(BadInputError, match="codec 'zstd' is not known"):
        Serializer(SchemaRegistry("http://localhost:1"), "g", USER, codec="zstd")


WIDE = parse_schema(
    """{"type":"record","name":"R","fields":[
    {"name":"a","type":"int"},{"name":"b","type":"long"},{"name":"c","type":"float"},{"name":"d","type":"double"},
    {"name":"e","type":"string"},{"name":"f","type":"bytes"},{"name":"g","type":"boolean"},
    {"name":"h","type":["null","string",{"type":"array","items":"long"}],"default":null},
    {"name":"i","type":{"type":"map","values":["null","R"]}},
    {"name":"j","type":{"type":"enum","name":"E","symbols":["X","Y"]}},
    {"name":"k","type":{"type":"fixed","name":"F","size":3}}]}"""
)
INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


def records(depth: int = 1) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.none() if depth == 0 else st.none() | records(depth - 1)
    return st.fixed_dictionaries(
        {
            "a": INT,
            "b": LONG,
            "c": st.floats(width=32, allow_nan=False),
            "d": st.floats(allow_nan=False),
            "e": st.text(),
            "f": st.binary(),
            "g": st.booleans(),
            "h": st.none() | st.text() | st.lists(LONG, max_size=3),
            "i": st.dictionaries(st.text(max_size=3), inner, max_size=2),
            "j": st.sampled_from("XY"),
            "k": st.binary(min_size=3, max_size=3),
        }
    )


@given(records(), st.binary(max_size=4))
def test_a_value_is_read_as_it_was_written_whatever_follows(value: dict[str, Any], rest: bytes) -> None:
    assert read_datum(write_datum(WIDE, value) + rest, WIDE) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_one_error(data: bytes) -> None:
    with suppress(BadInputError):
        read_datum(data, WIDE)


def test_a_value_is_read_with_another_schema() -> None:
    written = write_datum(WIDE, {"a": 1, "b": 2, "c": 3.0, "d": 4.0, "e": "é", "f": b"\xff", "g": True,
                                 "i": {}, "j": "Y", "k": b"xyz"})  # fmt: skip
    reader = parse_schema(
        """{"type":"record","name":"R","fields":[
        {"name":"z","type":{"type":"fixed","name":"Z","size":1},"default":"\\u00ff"},
        {"name":"text","aliases":["e"],"type":["null","string"]},{"name":"a","type":"double"},
        {"name":"j","type":{"type":"enum","name":"E","symbols":["X"],"default":"X"}},
        {"name":"more","type":{"type":"array","items":"double"},"default":[1,2]}]}"""
    )
    assert read_datum(written, WIDE, reader) == {
        "z": b"\xff", "text": "é", "a": 1.0, "j": "X", "more": [1.0, 2.0],
    }  # fmt: skip
    strict = parse_schema('{"type":"record","name":"R","fields":[{"name":"q","type":"int"}]}')
    with pytest.raises(BadInputError, match="no default and is missing"):
        read_datum(written, WIDE, strict)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": 2**31}, "R.a: '2147483648' .int. is no int"),
        ({"a": True}, "R.a: .* is no int"),
        ({"h": 7}, "R.h: .* is no null or string or array"),
        ({"i": {"x": {"a": 1}}}, r"R.i\['x'\]: .* is no null or R"),
        ({"j": "Z"}, "R.j: .* is no enum"),
        ({"k": b"four"}, "R.k: .* is no fixed"),
        ({"new": 1}, "R has no field 'new'"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_field(change: dict[str, Any], words: str) -> None:
    value = {"a": 1, "b": 2, "c": 3.0, "d": 4, "e": "", "f": b"", "g": False, "i": {}, "j": "X", "k": b"abc"}
    write_datum(WIDE, value)
    with pytest.raises(BadInputError, match=words):
        write_datum(WIDE, {**value, **change})
    with pytest.raises(BadInputError, match=r"R\.a is missing"):
        write_datum(WIDE, {name: one for name, one in value.items() if name != "a"})


def test_the_encoding_is_avros() -> None:
    schema = parse_schema(
        '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"},'
        '{"name":"d","type":"double"},{"name":"l","type":{"type":"array","items":"int"}}]}'
    )
    expected = b"\xac\x02\x06Ann" + struct.pack("<d", 0.5) + b"\x04\x02\x01\x00"
    assert write_datum(schema, {"id": 150, "name": "Ann", "d": 0.5, "l": [1, -1]}) == expected
    in_blocks = b"\xac\x02\x06Ann" + struct.pack("<d", 0.5) + b"\x01\x02\x02\x02\x01\x00"
    assert read_datum(in_blocks, schema)["l"] == [1, -1]
