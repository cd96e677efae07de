"""Getting into a cluster: what is taken from where, what is never shown, when tokens are asked for."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import Credentials, connect
from pravega_lab.client.connection.access import Access, access_from, add_access_arguments
from pravega_lab.client.connection.connection import Connection, Listener
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.connection.tokens import Tokens, lifetime_of
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.wire.commands import AuthTokenCheckFailed, ReadSegment

NOTHING: dict[str, str] = {}


def of(environ: dict[str, str] | None = None, **options: Any) -> Access:
    return Access.of(options, environ or NOTHING)


# credentials


def test_basic_and_bearer() -> None:
    assert Credentials.basic("a", "b:c").header == "Basic " + base64.b64encode(b"a:b:c").decode()
    assert Credentials.bearer("x.y.z").header == "Bearer x.y.z"
    assert of(credentials=("a", "b")).authorization() == Credentials.basic("a", "b").header
    assert of().authorization() is None


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("username=a\npassword=b=c\n", Credentials.basic("a", "b=c").header),
        ("# ours\n\n method = Bearer \n token = x.y.z \n", "Bearer x.y.z"),
        (
            "pravega_client_auth_username=a\npravega_client_auth_password=b",
            Credentials.basic("a", "b").header,
        ),
        ("pravega.client.auth.method=Own\npravega.client.auth.token=t", "Own t"),
        ("\ufeffusername=a\r\npassword=b\r\n", Credentials.basic("a", "b").header),
    ],
)
def test_a_file(tmp_path: Path, text: str, header: str) -> None:
    secret_file(tmp_path / "f", text)
    access = of(credentials_file=tmp_path / "f")
    assert access.authorization() == header
    assert of({"PRAVEGA_CREDENTIALS_FILE": str(tmp_path / "f")}).authorization() == header
    assert access.credentials is None  # they are read when they are needed


@pytest.mark.parametrize(
    "token", ["secret\n", "secret\rX: y", "secret\x00", "se\u2028cret", "\u201csecret", ""]
)
def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(token: str) -> None:
    for method, text in (("Bearer", token), (token, "x")):
        with pytest.raises(BadInputError, match="method and token are printable letters of ASCII") as caught:
            Credentials(method, text)
        assert "cret" not in str(caught.value)


@pytest.mark.parametrize("text", ["secret", "username=secret", "method=Bearer\nsecret=1", "password=secret"])
def test_a_file_with_too_little_is_not_repeated(tmp_path: Path, text: str) -> None:
    secret_file(tmp_path / "f", text)
    with pytest.raises(BadInputError, match="has no whole credentials for method") as caught:
        of(credentials_file=tmp_path / "f")
    assert "secret" not in str(caught.value)


def test_the_variables_of_pravegas_clients(tmp_path: Path) -> None:
    names = {"method": "Basic", "username": "a", "password": "b"}
    environ = {f"pravega_client_auth_{name}": value for name, value in names.items()}
    assert of(environ).authorization() == Credentials.basic("a", "b").header
    java = {"pravega_client_auth_method": "Bearer", "pravega_client_auth_token": "t"}
    assert of(java).authorization() == "Bearer t"
    assert of(java, credentials=("a", "b")).authorization() == Credentials.basic("a", "b").header
    (tmp_path / "ca").write_text("")
    assert of({"pravega_client_tls_cert_path": str(tmp_path / "ca")}).ca_file == str(tmp_path / "ca")
    assert not of({"PRAVEGA_VALIDATE_HOST_NAME": "false"}).validate_host_name
    assert of({"PRAVEGA_REWRITE": "a=b, c:1=d:2"}).rewrite == (("a", "b"), ("c:1", "d:2"))
    with pytest.raises(BadInputError, match="pravega_client_auth_token"):
        of({"pravega_client_auth_method": "Bearer"})


def secret_file(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text)


def test_a_file_that_others_may_use_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    secret_file(file, "username=a\npassword=hush-hush")
    assert of(credentials_file=file).authorization()
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(BadInputError, match=f"mode 0{mode:o}.*chmod 600 {file}") as caught:
            of(credentials_file=file)
        assert "hush" not in str(caught.value)


def test_credentials_leave_this_machine_over_tls_only() -> None:
    user: Any = {"credentials": ("a", "b")}
    elsewhere: Any = {"rewrite": {"localhost": "192.0.2.1"}}
    for uri in ("tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://192.0.2.1:1"):
        connect(uri, **user).close()
    for uri, more in (
        ("tcp://192.0.2.1:1", {}),
        ("tcp://store.example:1", {}),
        ("tcp://localhost:1", elsewhere),
    ):
        with pytest.raises(BadInputError, match="would cross the network in clear"):
            connect(uri, **user, **more)
        connect(uri, **user, **more, plain_credentials=True).close()
        connect(uri, **more).close()


def test_a_token_does_not_go_to_a_store_elsewhere_in_clear() -> None:
    dialer = Dialer(of(credentials=("a", "b")), is_secure=False)
    with pytest.raises(BadInputError, match=r"tcp://192\.0\.2\.1:1 is another machine"):
        asyncio.run(dialer.connect(asyncio.Protocol, Endpoint("192.0.2.1", 1)))


def test_secrets_are_not_shown() -> None:
    access = of(credentials=("user", "hush-hush"))
    hidden = ["hush-hush", access.authorization() or "", base64.b64encode(b"user:hush-hush").decode()]
    client = connect("tcp://127.0.0.1:1", credentials=("user", "hush-hush"))
    shown = f"{access} {access!r} {access.credentials!r} {access.to_options()} {client!r} {vars(client)}"
    assert [secret for secret in hidden if secret in shown] == []
    assert pickle.loads(pickle.dumps(access)) == access


def test_for_a_process_of_our_own_they_are_variables(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("")
    access = of(
        credentials=("a", "b"), ca_file=tmp_path / "ca", rewrite={"a": "b:1"}, validate_host_name=False
    )
    assert Access.of({}, access.to_environment()) == access
    options = access.to_options()
    assert options == {"ca_file": str(tmp_path / "ca"), "rewrite": "a=b:1", "validate_host_name": "false"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"credential": 1}, "no option 'credential'"),
        ({"credentials": "a:b"}, "credentials of type str"),
        ({"credentials": ("a:b", "c")}, "no colon"),
        ({"credentials_file": "/nowhere"}, "/nowhere cannot be read: No such file.*mode 0600"),
        ({"ca_file": "/nowhere"}, "no file or folder /nowhere"),
        ({"rewrite": "a=b"}, "give a mapping"),
        ({"rewrite": {"a": "tcp://b:1"}}, "is no host"),
        ({"rewrite": {"a": "b:c"}}, "no port between"),
    ],
)
def test_what_cannot_work(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        of(**options)


def test_addresses() -> None:
    for uri in (
        "pravega://host:9090",
        "tls://host",
        "ftp://host:1",
        "tcp://host:port",
        "tcp://[",
        "tcp://[x]:1",
    ):
        with pytest.raises(BadInputError) as caught:
            connect(uri)
        assert repr(uri) in str(caught.value)
        assert "tcp://host:port" in str(caught.value)


@pytest.mark.parametrize("place", ["host:1", "host:port", "["])
def test_an_address_with_a_password(place: str) -> None:
    with pytest.raises(BadInputError, match="credentials=") as caught:
        connect(f"tls://user:hush@{place}")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "reached"),
    [
        ({}, ("h", 1)),
        ({"h": "g"}, ("g", 1)),
        ({"h": "g:2"}, ("g", 2)),
        ({"h:1": "g", "h": "f"}, ("g", 1)),
        ({"h:2": "g"}, ("h", 1)),
        ({"h": "[::1]:2"}, ("::1", 2)),
        ({"h": "::1"}, ("::1", 1)),
    ],
)
def test_rewrite(rules: dict[str, str], reached: tuple[str, int]) -> None:
    assert of(rewrite=rules).reach("h", 1) == reached


def test_flags(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_access_arguments(parser)
    assert access_from(parser.parse_args([])) == {}
    words = ["--ca-file", "c", "--credentials-file", "f", "--rewrite", "a=b", "--rewrite", "c:1=d:2"]
    assert access_from(parser.parse_args([*words, "--no-host-name-check"])) == {
        "ca_file": "c",
        "credentials_file": "f",
        "rewrite": {"a": "b", "c:1": "d:2"},
        "validate_host_name": False,
    }
    with pytest.raises(BadInputError, match="'a:b' is not HOST=HOST"):
        access_from(parser.parse_args(["--rewrite", "a:b"]))


# delegation tokens


def jwt(**claims: float) -> str:
    parts = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims)
    )
    return ".".join([*parts, "signature"])


def simulated(run: Callable[[], Any]) -> None:
    loop = SimulationLoop(1)
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()


def test_a_token_is_asked_for_again_before_it_expires() -> None:
    """By the loop's clock and what the token says of itself: the clock on the wall may be wrong."""
    asked = []

    async def ask(stream: str, write: bool) -> str:
        asked.append((stream, write))
        return jwt(iat=5000, exp=5600)

    async def run() -> None:
        tokens = Tokens(ask, wanted=True)
        assert tokens.known("s/a", write=False) is None
        first = await tokens.get("s/a", write=False)
        assert tokens.known("s/a", write=False) == first
        await tokens.get("s/a", write=True)
        await tokens.get("s/b", write=False)
        assert asked == [("s/a", False), ("s/a", True), ("s/b", False)]
        await asyncio.sleep(594)
        assert tokens.known("s/a", write=False) == first
        await asyncio.sleep(2)
        await tokens.get("s/a", write=False)
        tokens.forget("s/a")
        await tokens.get("s/a", write=False)
        assert asked[3:] == [("s/a", False)] * 2

    simulated(run)


def test_without_credentials_nothing_is_asked() -> None:
    async def ask(stream: str, write: bool) -> str:
        raise AssertionError(stream)

    async def run() -> None:
        assert await Tokens(ask, wanted=False).get("s/a", write=True) == ""

    simulated(run)


@pytest.mark.parametrize("token", ["", "word", "a.b.c", "a.e30.c", jwt(exp=1), "a.bnVsbA.c"])
def test_tokens_that_do_not_say_when_they_expire(token: str) -> None:
    assert lifetime_of(token) is None


def test_a_refusal_that_names_the_offset_finds_its_read() -> None:
    """As the released server answers reads; with two at one offset nobody knows which, so both try again."""

    async def run() -> None:
        connection = Connection(Endpoint("h", 1))
        connection._transport = _Sink()  # type: ignore[assignment]
        got: list[tuple[str, Any]] = []

        def read(name: str, offset: int) -> int:
            listener = Listener(lambda reply: got.append((name, reply)), lambda error: None)
            request_id = connection.listen(listener)
            connection.send(ReadSegment(name, offset, 10, "token", request_id))
            return request_id

        first, second, third = read("a", 0), read("b", 7), read("c", 7)
        connection._dispatch(AuthTokenCheckFailed(0, "why", 0))
        assert got == [("a", AuthTokenCheckFailed(first, "why", 0))]
        connection._dispatch(AuthTokenCheckFailed(7, "why", 0))
        both = [("b", AuthTokenCheckFailed(second, "why", 1)), ("c", AuthTokenCheckFailed(third, "why", 1))]
        assert got[1:] == both
        connection.forget(third)
        connection._dispatch(AuthTokenCheckFailed(7, "why", 0))
        assert got[3:] == [("b", AuthTokenCheckFailed(second, "why", 0))]
        connection._dispatch(AuthTokenCheckFailed(99, "why", 0))
        assert len(got) == 4
        connection.close()

    simulated(run)


class _Sink:
    def write(self, data: bytes) -> None: ...

    def abort(self) -> None: ...


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "f"
    secret_file(file, "username=a\npassword=b")
    access = of(credentials_file=file)
    file.write_text("username=a\npassword=c")
    os.utime(file, ns=(1, 1))
    assert access.authorization() == Credentials.basic("a", "c").header
    file.unlink()
    with pytest.raises(BadInputError, match="cannot be read"):
        access.authorization()
