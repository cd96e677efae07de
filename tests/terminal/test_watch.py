"""`pravega-lab watch` on an embedded store: what it lists, shows, prints, records; and it only looks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pravega_lab.cli import main
from pravega_lab.client import Client, ScalingPolicy, connect
from pravega_lab.client.reader_group import reading
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.engine.store.security.passwords import password_line
from pravega_lab.observe import Journal, observe
from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.group.observations import GroupCheckpointAsked, GroupSeen, GroupUpdated, ReaderJoined
from pravega_lab.observe.journal.observations import SegmentOpened, SegmentSealed
from pravega_lab.terminal import command
from tests.standalone import Standalone

GROUP = "demo/board"


@pytest.fixture(scope="module")
def store() -> Iterator[StoreProcess]:
    with StoreProcess() as store, connect(store.uri) as client:
        stream = client.create_stream("demo/flights", scaling=ScalingPolicy.by_event_rate(500, 2, 4))
        client.create_stream("other/closed").seal()
        group = client.create_reader_group(
            GROUP, reading(["demo/flights"], automatic_checkpoint_interval_ms=-1)
        )
        readers = [group.create_reader(name) for name in ("r1", "r2")]
        stream.write([b"event"] * 400, [f"key {i}" for i in range(400)])
        for reader in readers:
            reader.read_next(timeout_s=20)
        group.reader_offline("r2")
        yield store


@pytest.fixture
def client(store: StoreProcess) -> Iterator[Client]:
    with connect(store.uri) as client:
        yield client


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def rows(out: str, title: str) -> list[list[str]]:
    """The rows of a printed table, split at two spaces or more."""
    lines = out.split(title, 1)[1].splitlines()
    rule = next(i for i, line in enumerate(lines) if "──" in line)
    found = []
    for line in lines[rule + 1 :]:
        if not line.strip():
            break
        found.append([cell.strip() for cell in line.split("   ") if cell.strip()])
    return found


def test_without_a_group_it_lists_streams_and_groups(
    store: StoreProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", store.uri, "--once"]) == 0
    out = capsys.readouterr().out
    streams = {row[0]: row[1:] for row in rows(out, "Streams")}
    assert streams == {"demo/flights": ["4", "500 events/s a segment"], "other/closed": ["sealed", "fixed"]}
    [[group, readers, unread, update]] = rows(out, "Reader groups")
    assert (group, readers) == (GROUP, "r1")
    assert unread.endswith("kB")
    assert update.endswith("ago")


def test_a_scope_alone(store: StoreProcess, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", store.uri, "other", "--once"]) == 0
    assert "demo" not in capsys.readouterr().out


def test_with_a_group_it_shows_segments_readers_and_checkpoints(
    store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    pending = client.reader_group(GROUP).initiate_checkpoint("asked")
    assert pending.waiting_for() == ("r1",)
    assert main(["watch", store.uri, GROUP, "--once"]) == 0
    out = capsys.readouterr().out
    assert [row[1] for row in rows(out, "Segments")] == [
        "0.000 – 0.250", "0.250 – 0.500", "0.500 – 0.750", "0.750 – 1.000",
    ]  # fmt: skip
    assert "demo/board reads demo/flights with 1 reader (r1) online" in " ".join(out.split())
    readers = {row[0]: row[1] for row in rows(out, "Readers")}
    assert readers["r1"].startswith("owes asked for")
    assert readers["r2"].startswith("left")
    asked = rows(out, "Reader-group checkpoints")[0]
    assert (asked[0], asked[1], asked[3]) == ("asked", "0 of 1", "r1")
    assert "asked" in rows(out, "Last updates")[0][1]
    client.reader_group(GROUP).cancel_outstanding_checkpoints()


def test_json_is_a_line_per_observation_and_the_recording_says_the_same(
    store: StoreProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "incident.jsonl"
    assert main(["watch", store.uri, GROUP, "--once", "--json", "--record", str(path)]) == 0
    told = capsys.readouterr()
    records = [json.loads(line) for line in told.out.splitlines()]
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert {"group_seen", "reader_joined", "group_segment_acquired", "reader_left"} <= {
        record["kind"] for record in records
    }
    assert str(path) in told.err
    journal = Journal.load(path)
    assert len(journal) >= len(records)
    assert [row.reader for row in fold_groups(journal.since()).online(GROUP)] == ["r1"]


def test_json_of_a_cluster_and_of_a_scope(store: StoreProcess, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(*words: str) -> dict[tuple[str, str], dict[str, object]]:
        assert main(["watch", store.uri, *words, "--json"]) == 0
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert all(record["time_ms"] > 0 for record in records)
        return {(record["kind"], record["name"]): record for record in records}

    found = lines("--once")
    names = [("scope", "demo"), ("scope", "other")]
    names += [("stream", "demo/flights"), ("stream", "other/closed"), ("reader_group", GROUP)]
    assert list(found) == names
    assert found["stream", "demo/flights"]["n_segments"] == 4
    assert found["reader_group", GROUP]["readers"] == ["r1"]
    assert list(lines("other", "--seconds", "0.1")) == [("scope", "other"), ("stream", "other/closed")]


def test_json_of_a_cluster_says_what_changes(
    store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_stream("changing/s")

    def change(_: float) -> None:
        stream = client.stream("changing/s")
        if not stream.segments():
            stream.delete()
            raise KeyboardInterrupt
        stream.seal()

    clock = SimpleNamespace(sleep=change, monotonic=time.monotonic, time_ns=time.time_ns)
    monkeypatch.setattr(command, "time", clock)
    assert main(["watch", store.uri, "changing", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(t["kind"], t["name"], t.get("n_segments")) for t in told] == [
        ("scope", "changing", None),
        ("stream", "changing/s", 1),
        ("stream", "changing/s", 0),
    ]


def test_a_recording_is_continued_without_saying_anything_twice(
    store: StoreProcess, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "incident.jsonl"
    words = ["watch", store.uri, GROUP, "--once", "--json", "--record", str(path)]
    assert main(words) == 0
    first = Journal.load(path).since()
    group = client.reader_group(GROUP)
    group.initiate_checkpoint("later")
    group.cancel_outstanding_checkpoints()
    capsys.readouterr()
    assert main(words) == 0
    printed = {json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()}
    both = Journal.load(path).since()
    assert both[: len(first)] == first
    updates = [(o.revision, o.explained) for o in both if isinstance(o, GroupUpdated)]
    assert len(updates) == len(set(updates)) > sum(isinstance(o, GroupUpdated) for o in first)
    added = {type(o) for o in both[len(first) :]}
    assert GroupCheckpointAsked in added
    assert not added & {GroupSeen, ReaderJoined, SegmentOpened, SegmentSealed}
    assert "group_checkpoint_asked" in printed
    assert "group_seen" not in printed


def test_a_file_that_is_no_recording_of_this_group_is_kept(
    store: StoreProcess, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes, other = tmp_path / "notes.txt", tmp_path / "other.jsonl"
    notes.write_text("dear diary")
    client.create_reader_group("demo/second", reading(["demo/flights"]))
    assert main(["watch", store.uri, "demo/second", "--once", "--record", str(other)]) == 0
    before = other.read_bytes()
    for path, said in ((notes, "notes.txt"), (other, "is a recording of group demo/second")):
        assert main(["watch", store.uri, GROUP, "--once", "--record", str(path)]) == 1
        assert said in capsys.readouterr().err
    assert (notes.read_text(), other.read_bytes()) == ("dear diary", before)
    client.reader_group("demo/second").delete()


def test_a_recording_that_never_got_an_answer_is_continued(store: StoreProcess, tmp_path: Path) -> None:
    path = Journal(f"group {GROUP} at tcp://127.0.0.1:1").save(tmp_path / "empty.jsonl")
    assert main(["watch", store.uri, GROUP, "--once", "--record", str(path)]) == 0
    assert any(isinstance(o, GroupSeen) for o in Journal.load(path).since())


def test_the_hint_of_a_recording_can_be_pasted(
    store: StoreProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = tmp_path / ("long" * 20) / "incident.jsonl"
    path.parent.mkdir()
    assert main(["watch", store.uri, GROUP, "--once", "--record", str(path)]) == 0
    hint = capsys.readouterr().err.splitlines()[-1]
    assert hint.endswith(f"show(Journal.load({str(path)!r}))")
    shown: dict[str, Any] = {}
    exec(hint.replace("show(", "board = show("), shown)
    assert "ReaderBoard" in repr(shown["board"])


def test_it_only_looks(store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    def standing() -> object:
        log = client.stream("demo/_RGboard")
        infos = [log.segment_info(segment.segment_id) for segment in log.segments()]
        return infos, client.list_streams("demo"), client.list_reader_groups("demo"), client.list_scopes()

    before = standing()
    assert main(["watch", store.uri, "--once"]) == 0
    assert main(["watch", store.uri, GROUP, "--once"]) == 0
    assert standing() == before


def test_a_checkpoint_named_like_markup_is_shown_by_its_name(
    store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    group = client.reader_group(GROUP)
    group.initiate_checkpoint("[/foo]\x1b[2J")
    assert main(["watch", store.uri, GROUP, "--once"]) == 0
    out = capsys.readouterr().out
    group.cancel_outstanding_checkpoints()
    assert rows(out, "Reader-group checkpoints")[0][0] == "[/foo]\\x1b[2J"
    assert "\x1b" not in out


def test_it_follows_until_the_time_is_over(
    store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", store.uri, GROUP, "--seconds", "1"]) == 0
    out = capsys.readouterr().out
    assert "Readers" in out
    assert out.endswith("\n")


@pytest.mark.timeout(60)
def test_a_pipe_gets_the_present_state_of_a_group(
    store: StoreProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", store.uri, GROUP]) == 0
    assert capsys.readouterr().out.count("Reader-group checkpoints") == 1


def printing_json(store: StoreProcess, *options: str) -> subprocess.Popen[str]:
    """Start a watch of the group that prints lines of JSON, in a process of its own."""
    command = [sys.executable, "-m", "pravega_lab.cli", "watch", store.uri, GROUP, "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_reader_of_its_lines_may_go_away(store: StoreProcess) -> None:
    with printing_json(store, "--seconds", "30") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 128 + signal.SIGPIPE
        assert "Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_a_recording_is_saved_while_lines_are_printed_and_at_sigterm(
    store: StoreProcess, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with printing_json(store, "--record", str(path)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert any(isinstance(o, GroupSeen) for o in Journal.load(path).since())
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert f"observations in {path}" in process.stderr.read()


def test_a_recording_that_cannot_be_saved_now_is_a_warning(
    store: StoreProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SAVE_EVERY_S", 0.0)
    path = tmp_path / "run.jsonl"
    with observe(store.uri, group=GROUP) as watch:
        recording = command._Recording(path, watch)
        path.unlink()
        path.mkdir()
        recording.keep_up()
        assert "run.jsonl: not saved now: Is a directory" in capsys.readouterr().err
        path.rmdir()
        recording.keep_up()
        assert path.is_file()


def test_a_long_recording_is_saved_less_often(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A journal of days takes longer to save than ten seconds: the watch would do nothing else."""
    now_s, took_s, saves = 0.0, 0.5, 0

    def save(_path: Path) -> None:
        nonlocal now_s, saves
        now_s, saves = now_s + took_s, saves + 1

    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: now_s))
    recording = command._Recording(tmp_path / "run.jsonl", cast(Any, SimpleNamespace(save=save)))
    for took_s, apart_s in ((25.0, 10.0), (0.5, 250.0), (0.5, 10.0)):  # each after the save before
        ended_s = now_s
        now_s = ended_s + apart_s - 0.1
        recording.keep_up()
        assert now_s == ended_s + apart_s - 0.1
        now_s = ended_s + apart_s
        recording.keep_up()
        assert now_s == ended_s + apart_s + took_s
    assert saves == 4


def test_a_user_of_one_scope_may_look_at_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    users, credentials = tmp_path / "users", tmp_path / "credentials"
    access = {"admin": "prn::*,READ_UPDATE", "ann": "prn::/scope:lessons,READ;prn::/scope:lessons/*,READ"}
    for file in (users, credentials):
        file.touch(mode=0o600)
    users.write_text(
        "".join(password_line(user, "w", acl, b"s" * 32, 10) + "\n" for user, acl in access.items())
    )
    credentials.write_text("username=ann\npassword=w\n")
    with Standalone("--memory", "--password-file", str(users)) as uri:
        with connect(uri, credentials=("admin", "w")) as admin:
            admin.create_stream("lessons/one")
            admin.create_stream("other/one")
            admin.create_reader_group("lessons/desk", reading(["lessons/one"]))
        for words, code, told in (
            ("lessons", 0, "lessons/desk"),
            ("lessons/desk", 0, "no reader is online"),
            ("other", 1, "'ann' has no READ on prn::/scope:other"),
        ):
            assert main(["watch", uri, words, "--once", "--credentials-file", str(credentials)]) == code
            shown = capsys.readouterr()
            assert told in shown.out + shown.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["demo/bord"], "there is no reader group 'bord' in demo. Did you mean board?"),
        (["demo/flights"], "is a stream, not a reader group. Groups of demo: board"),
        (["dem/board"], "there is no scope 'dem'. Did you mean demo?"),
        (["dem"], "there is no scope 'dem'. Did you mean demo?"),
        (["demo", "--record", "x.jsonl"], "name it, as in SCOPE/GROUP"),
        ([GROUP, "--seconds", "0"], "--seconds 0: more than 0"),
        ([GROUP, "--seconds", "nan"], "--seconds nan: more than 0"),
        ([GROUP, "--once", "--record", "."], "pravega-lab watch: .: Is a directory"),
        (
            [GROUP, "--once", "--record", "/proc/none/x.jsonl"],
            "pravega-lab watch: /proc/none: No such file or directory",
        ),
    ],
)
def test_bad_input(
    store: StoreProcess, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", store.uri, *words]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_a_store_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tcp://127.0.0.1:1", "--once"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
