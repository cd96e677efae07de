"""A lab of one's own on a shared machine: who gets in without a word, and where the password is not shown."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pravega_lab import Lab, connect
from pravega_lab.client.connection import own_stores
from pravega_lab.errors import AccessDeniedError, BadInputError, StoreUnavailableError
from pravega_lab.lab.private_store import PrivateStore
from pravega_lab.lab.proxied_client import ProxiedClient
from pravega_lab.testing import StoreProxy


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(name="private") as lab:
        lab.create_stream("s/mine").write([b"secret"])
        yield lab


def credentials(lab: Lab) -> Path:
    return own_stores.folder() / f"{lab.uri.rsplit(':', 1)[1]}.credentials"


def list_elsewhere(uri: str, **variables: str) -> subprocess.CompletedProcess[str]:
    code = f"from pravega_lab import connect; print(connect({uri!r}).list_streams('s'))"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **variables}
    )


def test_programs_of_the_same_user_get_in_by_the_address_alone(lab: Lab, tmp_path: Path) -> None:
    assert list_elsewhere(lab.uri).stdout == "['mine']\n"
    stranger = list_elsewhere(lab.uri, TMPDIR=str(tmp_path))  # who does not see the file
    assert "AccessDeniedError" in stranger.stderr
    with connect(lab.uri, credentials=("lab", "guess")) as guess, pytest.raises(AccessDeniedError):
        guess.list_scopes()
    with lab.observe("s/mine") as watch:
        assert watch.look(60)
        assert watch.trouble == []


def test_a_store_that_was_closed_does_not_answer() -> None:
    """What was sent before may have happened. That its credentials are gone would say that it did not."""
    with Lab(name="closed") as lab, connect(lab.uri, retry_for_s=0.5) as client:
        client.create_scope("s")
        late = connect(lab.uri)
        lab.close()
        for one in (client, late):
            with pytest.raises(StoreUnavailableError):
                one.create_scope("t")


def test_clients_that_run_through_proxies_get_in_too(lab: Lab) -> None:
    with closing(ProxiedClient(lab.client, ["s/mine"])) as proxied:
        assert proxied.client.list_streams("s") == ["mine"]


def test_a_forked_child_that_exits_leaves_the_credentials_of_a_proxy(tmp_path: Path) -> None:
    program = """
import os, sys
from pravega_lab.client.connection import own_stores
own_stores.publish(1, "lab", "secret")
own_stores.share(1, 2)
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
print(sorted(path.name for path in own_stores.folder().iterdir()))
"""
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "['1.credentials', '2.credentials']"
    [folder] = tmp_path.iterdir()
    assert [path.name for path in folder.iterdir()] == ["1.credentials"]


def test_a_proxy_that_holds_messages_back_lets_the_same_programs_in(lab: Lab, tmp_path: Path) -> None:
    with StoreProxy(lab.uri) as proxy:
        assert list_elsewhere(proxy.uri).stdout == "['mine']\n"
        assert "AccessDeniedError" in list_elsewhere(proxy.uri, TMPDIR=str(tmp_path)).stderr
        with connect(proxy.uri) as client:
            assert client.stream("s/mine").write([b"through the proxy"]) == 1
        shared = own_stores.folder() / f"{proxy.uri.rsplit(':', 1)[1]}.credentials"
        assert stat.S_IMODE(shared.stat().st_mode) == 0o600
    assert not shared.exists()


def test_the_password_is_where_only_its_user_looks(lab: Lab) -> None:
    file = credentials(lab)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (file, file.parent)] == [0o600, 0o700]
    store = lab.store
    assert isinstance(store, PrivateStore)
    argv = Path(f"/proc/{store.pid}/cmdline").read_text() + Path(f"/proc/{store.pid}/environ").read_text()
    options = lab.stream("s/mine").options()
    shown = f"{argv} {lab!r} {store!r} {lab.client!r} {vars(lab)} {store.log()} {options}"
    assert store._password not in shown
    assert store._password in file.read_text()
    assert str(file) not in str(options)


@pytest.mark.slow
def test_a_restarted_store_keeps_its_password_and_a_closed_one_leaves_nothing(tmp_path: Path) -> None:
    with Lab(tmp_path / "data", name="restarted") as lab:
        lab.create_stream("s/kept").write([b"1"])
        assert lab.store is not None
        lab.store.restart()
        lab.stream("s/kept").write([b"2"])
        with lab.stream("s/kept").read() as batches:
            assert [e for batch in batches for e in batch.column("event").to_pylist()] == [b"1", b"2"]
        file = credentials(lab)
        assert file.exists()
    assert not file.exists()


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / f"pravega-lab-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(BadInputError, match="is not a folder of yours that only you can enter"):
        own_stores.folder()


def test_a_folder_that_another_user_keeps_closed_is_named(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / f"pravega-lab-{os.getuid()}").mkdir(mode=0o755)

    stat_of = Path.stat

    def denied(path: Path, **options: bool) -> os.stat_result:
        if path.suffix == ".credentials":  # as for any user but the administrator
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat_of(path, **options)

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(BadInputError, match="is not a folder of yours that only you can enter"):
        connect(lab.uri)


def test_a_file_of_users_that_was_left_is_deleted_and_a_store_that_restarts_gets_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    left = own_stores.folder() / "0123456789abcdef.users"
    left.touch()
    os.utime(left, (0, 0))
    with PrivateStore() as store:
        assert not left.exists()
        [users] = own_stores.folder().glob("*.users")
        os.utime(users, (0, 0))
        own_stores.publish(1, "lab", "secret")
        assert not users.exists()
        store.stop()
        store.start()
        with connect(store.uri) as client:
            assert "_system" in client.list_scopes()


def test_old_credentials_of_stores_that_are_gone_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as serving, socket.create_server(("127.0.0.1", 0)) as gone:
        alive, dead = (server.getsockname()[1] for server in (serving, gone))
        paths = [own_stores.publish(port, "lab", "secret") for port in (alive, dead)]
        for path in paths:
            os.utime(path, (0, 0))
        gone.close()
        recent = own_stores.publish(1, "lab", "secret")
        own_stores.publish(2, "lab", "secret")
        assert [path.exists() for path in (*paths, recent)] == [True, False, True]


def test_an_open_lab_lets_every_program_in(tmp_path: Path) -> None:
    with Lab(open=True, name="open") as lab:
        lab.create_stream("s/ours")
        assert not credentials(lab).exists()
        assert list_elsewhere(lab.uri, TMPDIR=str(tmp_path)).stdout == "['ours']\n"


def test_only_a_store_of_the_labs_own_is_opened(lab: Lab) -> None:
    with pytest.raises(BadInputError, match="only an embedded store can be opened to everyone"):
        Lab(uri=lab.uri, open=True)
