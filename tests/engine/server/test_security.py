"""Security at the network: tokens of requests, passwords of calls, secret files, and who may be let in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pravega_lab.client import connect
from pravega_lab.client.connection.tokens import WRITES
from pravega_lab.engine.server.dispatch import HANDLERS
from pravega_lab.engine.server.security import authentication, options
from pravega_lab.engine.server.security.authentication import Authenticator
from pravega_lab.engine.server.security.files import Certificate, read_users, token_key
from pravega_lab.engine.server.security.lines import Lines
from pravega_lab.engine.server.security.requests import SEGMENTS_OF, WITHOUT_TOKEN
from pravega_lab.engine.server.segment_store import SegmentStore
from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.engine.store.security import tokens
from pravega_lab.engine.store.security.access_control import AccessControl
from pravega_lab.engine.store.security.passwords import parse_password_file, password_line
from pravega_lab.engine.store.security.permissions import Permission, of_stream
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.wire import commands as c
from tests.certificates import make_certificates
from tests.engine.server.test_connection import SEGMENT, WRITER, House, Transport, append, replies, send
from tests.standalone import ROOT, Standalone, StandaloneFailedError

KEY = b"k" * 64
READ, UPDATE = Permission.READ, Permission.READ_UPDATE
USERS = parse_password_file(password_line("eve", "apple", "prn::*,READ", b"s" * 32, 10))


class GuardedHouse(House):
    """A store in memory whose requests need tokens, with a clock that the test moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.now_ms = 1_000_000
        self.front = SegmentStore(
            *(self.storage, loop, lambda: self.now_ms, lambda: UUID(int=2)), access=AccessControl(USERS, KEY)
        )
        self.filled(0)

    def token(self, permission: Permission) -> str:
        return tokens.issue(KEY, of_stream("scope", "stream"), permission, self.now_ms, ttl_s=10)

    def ask(self, transport: Transport, *commands: c.Command) -> list[c.Command]:
        send(transport, *commands)
        self.sync()
        return replies(transport)


@pytest.fixture
def house() -> Iterator[GuardedHouse]:
    loop = asyncio.new_event_loop()
    yield GuardedHouse(loop)
    loop.close()


def test_every_command_has_a_rule_about_its_token() -> None:
    assert set(HANDLERS) == set(HANDLERS) & (set(SEGMENTS_OF) | WITHOUT_TOKEN)
    fields = {field for _, names in SEGMENTS_OF.values() for field in names}
    assert fields <= {"segment", "parent", "target", "source", "sources"}


def test_the_client_takes_a_token_that_allows_writing_for_every_command_that_needs_one() -> None:
    assert {kind for kind, (wanted, _) in SEGMENTS_OF.items() if wanted is UPDATE} == set(WRITES)


@pytest.mark.parametrize(
    ("command", "level", "code"),
    [
        (c.GetStreamSegmentInfo(1, SEGMENT, ""), None, 0),
        (c.GetStreamSegmentInfo(1, SEGMENT, ""), READ, None),
        (c.GetStreamSegmentInfo(1, "other/stream/0.#epoch.0", ""), READ, 0),
        (c.SealSegment(1, SEGMENT, ""), READ, 0),
        (c.SealSegment(1, SEGMENT, ""), UPDATE, None),
        (c.SetupAppend(1, WRITER, SEGMENT, ""), READ, 0),
        (c.MergeSegments(1, SEGMENT, "other/stream/0.#epoch.0", ""), UPDATE, 0),
    ],
)
def test_a_request_needs_a_token_that_allows_it(
    house: GuardedHouse, command: Any, level: Permission | None, code: int | None
) -> None:
    token = "" if level is None else house.token(level)
    [reply] = house.ask(house.connect(), replace(command, token=token))
    assert isinstance(reply, c.AuthTokenCheckFailed) == (code is not None)
    if isinstance(reply, c.AuthTokenCheckFailed):
        assert (reply.request_id, reply.error_code) == (1, code)


def test_a_token_that_has_expired_says_so(house: GuardedHouse) -> None:
    old = house.token(UPDATE)
    house.now_ms += 10_001
    transport = house.connect()
    [reply] = house.ask(transport, c.GetStreamSegmentInfo(4, SEGMENT, old))
    assert isinstance(reply, c.AuthTokenCheckFailed)
    assert (reply.request_id, reply.error_code) == (4, 1)
    assert house.ask(transport, c.SetupAppend(5, WRITER, SEGMENT, old)) == []
    assert transport.is_closed  # as the released server: the writer connects again, with a new token


def test_a_writer_whose_token_expires_is_cut_off_before_its_next_event(house: GuardedHouse) -> None:
    transport = house.connect()
    found = house.ask(transport, c.SetupAppend(1, WRITER, SEGMENT, house.token(UPDATE)), append(1))
    assert [type(reply) for reply in found] == [c.AppendSetup, c.DataAppended]
    house.now_ms += 10_001
    assert house.ask(transport, append(2)) == []
    assert transport.is_closed
    assert house.storage.info(SEGMENT).length == 10


# passwords of calls


def basic(name: str, word: str) -> str:
    return "Basic " + b64encode(f"{name}:{word}".encode()).decode()


def test_a_password_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    matches = authentication.matches

    def counted(word: str, expected: Any) -> bool:
        hashed.append(word)
        return matches(word, expected)

    monkeypatch.setattr(authentication, "matches", counted)

    async def run() -> None:
        authenticator = Authenticator(USERS)
        found = await asyncio.gather(*(authenticator.user_of(basic("eve", "apple")) for _ in range(100)))
        assert {user.name for user in found if user} == {"eve"}
        assert await authenticator.user_of(None) is None
        for wrong in (basic("eve", "pear"), basic("bob", "apple"), "Bearer a.b.c", "Basic !", "Basic"):
            with pytest.raises(RpcError, match="UNAUTHENTICATED"):
                await authenticator.user_of(wrong)

    asyncio.run(run())
    assert hashed == ["apple", "pear", "apple"]  # an unknown name costs as much as a wrong password


def test_guesses_wait_in_a_short_line() -> None:
    async def run() -> list[BaseException | None]:
        authenticator = Authenticator(USERS)
        calls = (authenticator.user_of(basic("eve", f"{n}")) for n in range(400))
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert await authenticator.user_of(basic("eve", "apple"))
        return [error for error in found if isinstance(error, BaseException)]

    codes = [str(error).partition(":")[0] for error in asyncio.run(run())]
    assert codes.count("UNAUTHENTICATED") == authentication.WAITING_MAX
    assert codes.count("RESOURCE_EXHAUSTED") == 400 - authentication.WAITING_MAX


def test_guesses_keep_out_no_other_user_and_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    monkeypatch.setattr(authentication, "matches", lambda word, _: hashed.append(word) or word == "right")
    ann = parse_password_file(password_line("ann", "w", "prn::*,READ", b"s" * 32, 10))

    async def run() -> None:
        authenticator = Authenticator({**USERS, **ann})
        guesses = [
            authenticator.user_of(basic(name, f"{n}"), "there") for n in range(200) for name in ("bob", "eve")
        ]
        neighbour = authenticator.user_of(basic("ann", "right"), "there")
        owner = authenticator.user_of(basic("eve", "right"), "home")
        found = await asyncio.gather(*guesses, neighbour, owner, return_exceptions=True)
        assert [user.name for user in found if not isinstance(user, BaseException) and user] == ["ann", "eve"]

    asyncio.run(run())
    assert len(hashed) == authentication.WAITING_MAX
    assert [n for n, word in enumerate(hashed) if word == "right"] == [1, 3]  # after bob, and after eve


def test_lines_take_turns_and_the_longest_one_is_cut() -> None:
    lines: Lines[str] = Lines(4)
    assert [lines.add("a", "x", f"x{n}") for n in range(4)] == [None] * 4
    assert lines.add("a", "x", "x4") == "x4"
    assert lines.add("a", "y", "y") == "x3"
    assert lines.add("b", "x", "b") == "x2"
    assert lines.add("b", "z", "z") == "x1"
    assert [lines.take() for _ in range(5)] == ["x0", "b", "y", "z", None]
    assert lines.add("a", "x", "again") is None


# files and options


def test_secret_files_belong_to_their_owner_alone(tmp_path: Path) -> None:
    passwords = tmp_path / "passwd"
    passwords.write_text(password_line("eve", "apple", "prn::*,READ", b"s" * 32, 10))
    passwords.chmod(0o640)
    with pytest.raises(BadInputError, match=r"mode 0640\).*chmod 600"):
        read_users(passwords)
    passwords.chmod(0o600)
    assert list(read_users(passwords)) == ["eve"]
    key = token_key(tmp_path / "data")
    assert key == token_key(tmp_path / "data") != token_key(None)
    path = tmp_path / "data" / "security" / "token-key"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.write_bytes(b"short")
    with pytest.raises(BadInputError, match="5 bytes and not 64: delete it"):
        token_key(tmp_path / "data")


def test_a_file_of_users_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Editors of some systems write one. It would be a letter of the first user's name."""
    path = tmp_path / "passwd"
    path.write_bytes(b"\xef\xbb\xbf" + password_line("eve", "w", "prn::*,READ", b"s" * 32, 10).encode())
    path.chmod(0o600)
    assert list(read_users(path)) == ["eve"]


def test_an_odd_line_in_a_file_of_users_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "passwd"
    path.write_text((password_line("eve", "w", "prn::*,READ", b"s" * 32, 10) + "\n") * 2)
    path.chmod(0o600)
    assert list(read_users(path)) == ["eve"]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "WARNING",
            f"--password-file {path}: line 2, user 'eve': line 1 is for the same user and no longer counts."
            " Remove one of the two lines",
        )
    ]


def test_a_key_of_tokens_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "security").write_bytes(b"")
    with pytest.raises(BadInputError, match=r"cannot be made in .*security: .*\. Look at owner and mode"):
        token_key(tmp_path)


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (["eve", "prn::*,READ"], b"\xff\n", "the password on standard input is no text in UTF-8"),
        ([b"\xff", "prn::*,READ"], b"w\n", "texts in UTF-8, and one is not"),
        (["eve", "prn::*,READ"], b"", "the password of 'eve' is empty"),
    ],
)
def test_a_line_of_no_text_is_refused_in_words(words: list[str | bytes], given: bytes, said: str) -> None:
    command: list[str | bytes] = [sys.executable, "-m", "pravega_lab.cli", "password", *words]
    done = subprocess.run(command, input=given, capture_output=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, b"")
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_certificate_has_its_own_key(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        make_certificates(tmp_path / name, ["DNS:localhost"])
        (tmp_path / name / "server.key").chmod(0o600)
    Certificate(tmp_path / "one" / "server.crt", tmp_path / "one" / "server.key")
    with pytest.raises(BadInputError, match="are no certificate with its key"):
        Certificate(tmp_path / "one" / "server.crt", tmp_path / "other" / "server.key")
    with pytest.raises(BadInputError, match=r"--tls-key .* cannot be read"):
        Certificate(tmp_path / "one" / "server.crt", tmp_path / "none")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--host 0.0.0.0", "no --tls-cert and --tls-key and no --password-file. Give them, or --insecure"),
        ("--host ::", "lets other machines in"),
        ("--host localhost.example --password-file p", "there is no --tls-cert and --tls-key. Give it"),
        ("--host 192.0.2.1 --tls-cert c --tls-key k", "there is no --password-file. Give it"),
        ("--host 0.0.0.0 --insecure", ""),
        ("--host 0.0.0.0 --tls-cert c --tls-key k --password-file p", ""),
        ("--host 127.0.0.3", ""),
        ("--host ::1", ""),
        ("--host localhost", ""),
    ],
)
def test_nobody_is_let_in_from_outside_by_oversight(words: str, said: str) -> None:
    parser = ArgumentParser()
    parser.add_argument("--host")
    options.add_arguments(parser)
    args = parser.parse_args(words.split())
    if not said:
        options.check_host(args)
        return
    with pytest.raises(BadInputError) as refused:
        options.check_host(args)
    assert said in str(refused.value)


def test_handshakes_that_fail_fill_no_log(tmp_path: Path) -> None:
    ca_file = make_certificates(tmp_path, ["DNS:localhost"])
    (tmp_path / "server.key").chmod(0o600)
    pair = ("--tls-cert", str(tmp_path / "server.crt"), "--tls-key", str(tmp_path / "server.key"))
    store = Standalone("--memory", *pair)
    store.start()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", store.controller_port)) as plain:
            plain.sendall(b"no handshake of TLS")
            plain.settimeout(10)
            with contextlib.suppress(ConnectionError):
                assert plain.recv(1 << 16)[:1] in (b"", b"\x15")  # the end, or an alert
    with connect(store.uri, ca_file=ca_file) as client:
        assert "_system" in client.list_scopes()
    store.stop()
    assert store.errors() == ""


def test_an_open_address_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(StandaloneFailedError, match=r"--host 0\.0\.0\.0 lets other machines in"):
        Standalone("--host", "0.0.0.0", "--data", str(tmp_path / "data")).start()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("seconds", [0, -1, 1 << 31, 10**30])
def test_a_lifetime_of_tokens_that_clients_cannot_read_is_refused(seconds: int) -> None:
    parser = ArgumentParser()
    options.add_arguments(parser)
    with pytest.raises(BadInputError, match=f"--token-ttl {seconds}: give a whole number of seconds from 1"):
        options.Security(parser.parse_args([f"--token-ttl={seconds}"]))
