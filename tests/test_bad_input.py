"""What nobody should pass, from the command line or through the client: a sentence that helps, and no harm.

Beside this: ``server/test_standalone.py`` (port or folder in use, corrupt log, full disk),
``conformance/wire/test_frames.py`` (garbage by kind), ``client/test_store_full.py``, and of
``connector/spark`` ``test_options.py``, ``test_source.py`` and ``test_java.py``.
"""

from __future__ import annotations

import os
import pickle
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

from pravega_lab import cli
from pravega_lab import errors as e
from pravega_lab.client import HEAD, Client, ScalingPolicy, Stream, Table, connect
from pravega_lab.client.reader_group import ReaderGroup, reading
from pravega_lab.client.values import ScalingKind
from pravega_lab.connector.simulation.families import ALL_BUGS
from pravega_lab.errors import Definite
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.stream_cut import StreamCut
from tests.client.helpers import events_of
from tests.conformance.controller import ControllerStub
from tests.standalone import ROOT, Standalone

EIGHT_MIB = 8 << 20


# The command line


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that does not even begin: one line, the sentence."""
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    return sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("standalone --memroy", "no option '--memroy'; did you mean --memory?"),
        (
            "standalone --zzz 9090",
            "no option '--zzz'. There are: --admin-host, --admin-port, --advertised-host, ",
        ),
        ("standalone --controller 9090", "no option '--controller'; did you mean --controller-port?"),
        ("demo --event=5", "no option '--event'; did you mean --events?"),
        ("simulate --seed 3", "no option '--seed'; did you mean --seeds?"),
        ("doctor --verbose", "no option '--verbose'. There are: --help"),
        ("standalne --memory", "no command 'standalne'; did you mean standalone?"),
        (
            "dashboard",
            "no command 'dashboard'. There are: admin, catalog, demo, doctor, lab, password, savepoint, ",
        ),
        ("standalone data/", "'data/' is one word too many"),
        ("standalone --controller-port 99999", "'99999' is not a port: give 1 to 65535, or 0 for a free one"),
        ("standalone --segment-store-port -1", "'-1' is not a port"),
        ("standalone --segment-store-port store", "'store' is not a port"),
        ("standalone --memory --data x", "not allowed with argument --memory"),
        ("demo --events many", "invalid int value: 'many'"),
        ("standalone --log-format xml", "no log format 'xml'. There are: json, text"),
        ("simulate --scenario spilt", "no scenario 'spilt'; did you mean split? There are: clocks, "),
        (
            "simulate --bug ack-before-synk",
            "'ack-before-synk'; did you mean ack-before-sync? See pravega-lab ",
        ),
        ("watch --once", "required: URI (see pravega-lab watch --help)"),
        ("admin lst --data x", "no action 'lst'; did you mean list? There are: backup, compact, dump, "),
    ],
)
def test_an_option_that_cannot_be_is_named(
    capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    said = refused(capsys, *words.split())
    assert sentence in said
    assert len(said) < 1500


def test_names_with_hyphens_are_whole_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["simulate", "--help"])
    said = capsys.readouterr().out
    assert [bug for bug in ALL_BUGS if bug not in said] == []


def test_a_command_whose_output_nobody_reads_ends_without_a_word() -> None:
    command = [sys.executable, "-m", "pravega_lab.cli", "password", "eve", "prn::*,READ"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(b"apple\n", timeout=60)
    assert (process.returncode, said) == (128 + signal.SIGPIPE, b"")


def test_a_command_whose_output_has_no_room_says_so() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "pravega_lab.cli", "password", "eve", "prn::*,READ"]
        ended = subprocess.run(
            command, input=b"apple\n", stdout=full, stderr=subprocess.PIPE, cwd=ROOT, timeout=60
        )
    assert ended.stderr.decode() == "pravega-lab password: the output: No space left on device\n"
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("words", "name"), [("--help", "pravega-lab"), ("admin --help", "pravega-lab admin")]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_help_that_has_no_room_says_so(words: str, name: str, unbuffered: str) -> None:
    """argparse drops the error of a write, and the interpreter one of a buffer that is left over."""
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "pravega_lab.cli", *words.split()]
        environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=environ, timeout=60
        )
    assert ended.stderr.decode() == f"{name}: the output: No space left on device\n"
    assert ended.returncode == 1


@pytest.mark.parametrize("module", ["pravega_lab.cli", "argparse", "pravega_lab.terminal.doctor"])
def test_an_interrupt_during_the_imports_ends_a_command_without_a_traceback(module: str) -> None:
    interrupted = (
        "import signal, sys\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # programs in the background ignore it
        "sys.meta_path.insert(0, Finder)\n"
        "sys.argv = ['pravega-lab', 'doctor']\n"
        "from pravega_lab.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", interrupted], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def with_closed_streams(streams: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run Python with ``arguments``, and with standard streams closed as a shell does it."""
    command = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, cwd=ROOT, timeout=60)


@pytest.mark.parametrize(
    ("streams", "words", "code", "said"),
    [
        ("<&-", "password eve prn::*,READ", 1, "pravega-lab password: the password of 'eve' is empty"),
        ("<&- >&-", "password eve prn::*,READ", 1, "pravega-lab password: the password of 'eve' is empty"),
        ("</dev/null >&-", "--version", 0, ""),
        ("<&- >&- 2>&-", "standalone --controller-port 0 --segment-store-port 0 --with-parent", 0, ""),
    ],
)
def test_a_closed_standard_stream_is_empty(streams: str, words: str, code: int, said: str) -> None:
    """The thread that waits for the end of input failed without one, and the store served for ever."""
    ended = with_closed_streams(streams, "-m", "pravega_lab.cli", *words.split())
    assert ended.stderr.decode().startswith(said)
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == code


def test_no_file_takes_the_number_of_a_closed_standard_stream(tmp_path: Path) -> None:
    """Or else the log of a store would contain what C libraries write to standard error."""
    program = f"""
import os
from pravega_lab import cli
cli.main([])
number = os.open(".", os.O_RDONLY)
open({str(tmp_path / "number")!r}, "w").write(str(number))
"""
    assert with_closed_streams("<&- >&- 2>&-", "-c", program).returncode == 0
    assert int((tmp_path / "number").read_text()) > 2


@pytest.mark.parametrize(
    "words", ["admin inspect --data d shop/desk", "watch tcp://host:9090 --once shop/desk"]
)
def test_an_optional_word_may_follow_the_options(words: str) -> None:
    command, *rest = words.split()
    assert cli.build_parser(command).parse_args([command, *rest]).what == "shop/desk"


def test_an_empty_folder_name_is_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """``--data "$UNSET"`` would have put a store into the current folder."""
    assert "'' is not a folder" in refused(capsys, "standalone", "--data", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "standalone --memory --segment-store-port 0 --insecure --host no.such.invalid",
            "'no.such.invalid' is unknown",
        ),
        ("standalone --memory --scaling-clock 0", "--scaling-clock 0: give a whole number from 1"),
        ("standalone --data /proc/none/store", "'/proc/none/store' cannot hold a store"),
        ("demo --events 0", "--events 0: give a number from 1"),
        ("demo --speed 0", "--speed 0: give a number above 0"),
        ("simulate --seeds 9..1", "--seeds '9..1': write A..B"),
        ("simulate --scenario split --act '5 slow eva'", "write '5 slow READER MS'"),
        ("simulate --scenario finished-task --act '1 kill'", "write '1 kill TASK'"),
        ("simulate --scenario finished-task --act '1 delay x y'", "write '1 delay CHANNEL MS'"),
        ("lab --port 99999999", "--port 99999999 is not a port: give 1 to 65535"),
        ("simulate --seeds 1 --journal no-folder/x", "--journal no-folder/x: there is no folder no-folder"),
        ("simulate --explain 1 --output no-folder/x", "--output no-folder/x: there is no folder no-folder"),
        ("simulate --report 1 --output tests", "--output tests is a folder: name a file"),
        ("simulate --scenario split --explain 1 --output no-folder/x", "there is no folder no-folder"),
        ("savepoint inspect no-such-folder", "no-such-folder does not exist, or is empty"),
        (f"savepoint inspect {__file__}", "test_bad_input.py is a file: name the folder of one checkpoint"),
        ("standalone --tier2-options {}", "the options of tier 2 need --tier2 URL"),
        ("standalone --tier2-rebuild", "the options of tier 2 need --tier2 URL"),
        ("standalone --tier2-chunk-bytes 0", "the options of tier 2 need --tier2 URL"),
        ("standalone --tier2-after-s 5", "the options of tier 2 need --tier2 URL"),
    ],
)
def test_a_command_that_cannot_begin_says_why(
    capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    assert cli.main(shlex.split(words)) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


# The client


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    with Standalone("--memory") as found:
        yield found


@pytest.fixture(scope="module")
def client(uri: str) -> Iterator[Client]:
    with connect(uri) as opened:
        yield opened


@pytest.fixture(scope="module")
def stream(client: Client) -> Stream:
    """Ten events, the first four truncated away."""
    made = client.create_stream("bad/input", scaling=ScalingPolicy.by_event_rate(10**9, 2, 1))
    made.write([b"event"] * 4, "key")
    made.truncate(made.tail())
    made.write([b"event"] * 6, "key")
    return made


@pytest.fixture(scope="module")
def sealed(client: Client) -> Stream:
    made = client.create_stream("bad/sealed")
    made.write("in", "key")
    made.seal()
    return made


@pytest.fixture(scope="module")
def table(client: Client) -> Table:
    made = client.table("bad/table")
    made.create()
    return made


def read(stream: Stream, *bounds: Any) -> list[bytes]:
    with stream.read(*bounds) as batches:
        return events_of(batches)


def told(kind: type[e.PravegaError], call: Callable[[], object], *words: str) -> e.PravegaError:
    """The error of exactly this kind that ``call`` raises; its message holds all ``words``."""
    with pytest.raises(e.PravegaError) as caught:
        call()
    assert type(caught.value) is kind, caught.value
    for word in words:
        assert word in str(caught.value)
    return caught.value


NOBODY = UUID(int=7)
MISSING: dict[str, Callable[[Stream], object]] = {
    "segments": lambda s: s.segments(),
    "head": lambda s: s.head(),
    "tail": lambda s: s.tail(),
    "configuration": lambda s: s.configuration(),
    "seal": lambda s: s.seal(),
    "delete": lambda s: s.delete(),
    "update": lambda s: s.update(tags=["x"]),
    "truncate": lambda s: s.truncate(StreamCut(s.scoped_name, {0: 0})),
    "split": lambda s: s.split(0),
    "successors": lambda s: s.successors(0),
    "epoch": lambda s: s.epoch_segments(0),
    "write": lambda s: s.write("x"),
    "read": lambda s: read(s),
    "transaction": lambda s: s.begin_transaction(),
    "state of a transaction": lambda s: s.transaction(NOBODY).state(),
}


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("scoped_name", ["no-scope/s", "bad/missing"])
def test_a_missing_scope_or_stream(client: Client, stream: Stream, scoped_name: str, name: str) -> None:
    missing = client.stream(scoped_name)
    error = told(
        e.StreamNotFoundError, lambda: MISSING[name](missing), scoped_name, "client.list_streams(scope)"
    )
    assert error.definite is Definite.NO


def test_a_missing_scope(client: Client) -> None:
    told(e.ScopeNotFoundError, lambda: client.list_streams("no-scope"), "no-scope", "list_scopes()")
    make = lambda: client.create_stream("no-scope/s", create_scope=False)  # noqa: E731
    told(e.ScopeNotFoundError, make, "no-scope/s", "create it first")


def test_a_part_that_a_stream_never_had(stream: Stream) -> None:
    told(e.SegmentNotFoundError, lambda: stream.successors(99), "bad/input", "99")
    told(e.SegmentNotFoundError, lambda: stream.epoch_segments(99), "bad/input", "epoch 99")
    told(e.SegmentNotFoundError, lambda: stream.segment_info(99), "bad/input/99.#epoch.0")
    told(e.SegmentNotFoundError, lambda: read(stream, StreamCut("bad/input", {99: 0})), "[99]")
    told(e.ScaleRefusedError, lambda: stream.split(99), "[99] are not active; active are [0]")


@pytest.mark.parametrize(
    "text", ["", "earliest", "abc", "H4sIAAAAAAAA/zOwStQvtjIAQkMDCwMAM2E2", "bad/input", 5]
)
def test_a_malformed_cut(text: Any) -> None:
    told(e.BadInputError, lambda: StreamCut.from_text(text), "not a stream cut", "StreamCut.to_text()")
    told(e.BadInputError, lambda: StreamCut.from_json(text), "not a stream cut", "StreamCut.to_json()")


def test_a_cut_that_does_not_fit(client: Client, stream: Stream) -> None:
    other = client.create_stream("bad/other")
    cut, tail = other.tail(), stream.tail()
    told(e.BadInputError, lambda: read(stream, cut), "bad/other", "bad/input")
    told(e.BadInputError, lambda: read(stream, HEAD, cut), "bad/other", "bad/input")
    told(e.BadInputError, lambda: stream.truncate(cut), "bad/other", "bad/input")
    told(e.BadInputError, lambda: read(stream, tail, stream.head()), "lies before the start")
    told(e.BadInputError, lambda: read(stream, "earliest"), "pass a StreamCut, HEAD or TAIL")
    beyond = StreamCut("bad/input", {0: 10**9})
    told(e.BadInputError, lambda: stream.truncate(beyond), "which is", str(stream.head()))


def test_a_cut_before_the_truncation_point_says_where_reading_can_go_on(stream: Stream) -> None:
    begin = StreamCut("bad/input", {0: 0})
    error = told(
        e.TruncatedDataError, lambda: read(stream, begin), "reading can resume at", str(stream.head())
    )
    assert isinstance(error, e.TruncatedDataError)
    assert error.resume_at == stream.head()
    assert read(stream, error.resume_at) == [b"event"] * 6
    told(e.BadInputError, lambda: stream.truncate(begin), "after the head", str(stream.head()))


def test_an_event_over_8_mib(stream: Stream) -> None:
    before = stream.tail()
    large = bytes(EIGHT_MIB + 1)
    words = ("8388609 bytes", "8 MiB", "Nothing of this call was written")
    told(e.EventTooLargeError, lambda: stream.write(large), *words)
    told(e.EventTooLargeError, lambda: stream.write([b"small"] * 40 + [large]), *words)
    with stream.writer() as writer:
        told(e.EventTooLargeError, lambda: writer.write([b"small", large]), *words)
    transaction = stream.begin_transaction()
    told(e.EventTooLargeError, lambda: transaction.write(large), *words)
    transaction.abort()
    assert stream.tail() == before


@pytest.mark.parametrize(
    ("events", "keys", "words"),
    [
        (5, None, "found int 5; write bytes or str"),
        (None, None, "found NoneType None; write bytes or str"),
        (b"one", 5, "routing keys: found int 5; pass one str"),
        ([b"one"] * 99, b"key", "routing keys: found bytes b'key'; pass one str"),
        ([b"one"], [5], "a routing key is str, not int: 5"),
        ([b"one"] * 99, [5] * 99, "routing keys: found an array of int64; pass one str"),
        (pa.array([["one"]]), None, "found an array of list<item: string>; write bytes or str"),
        (pd.DataFrame({"a": [1]}), None, "this one has ['a']"),
        (pd.DataFrame({"event": ["one"], "amount": [1]}), None, "this one has ['event', 'amount']"),
        (pd.DataFrame({"event": ["one"], "routing_key": ["a"]}), "b", "Pass the keys once"),
        (pd.DataFrame({"event": [1]}), None, "found an array of int64; write bytes or str"),
        ([b"one", 5], None, "bytes or str, not int: 5"),
        ({"one": 1}, None, "a dict has no order of events"),
        ({b"one", b"two"}, None, "a set has no order of events"),
        ([b"one", b"two"], {"a", "b"}, "a set has no order of routing keys"),
        ([b"one"], pd.DataFrame({"routing_key": ["a"]}), "routing keys: found DataFrame"),
        ([b"one"], pa.table({"routing_key": ["a"]}), "routing keys: found Table"),
        ([b"one"], ["a", "b"], "1 events and 2 keys"),
        ([b"one"], [b"a"], "a routing key is str, not bytes"),
        (["\ud800"], None, "half a character"),
        (["one", None] * 40, None, "40 of 80 events are null"),
    ],
)
def test_what_is_no_event_or_key(stream: Stream, events: Any, keys: Any, words: str) -> None:
    before = stream.tail()
    told(e.BadInputError, lambda: stream.write(events, keys), words)
    assert stream.tail() == before


def test_a_sealed_stream(sealed: Stream) -> None:
    for call in (
        lambda: sealed.write("out", "key"),
        lambda: sealed.begin_transaction(),
        lambda: sealed.update(tags=["x"]),
        lambda: sealed.truncate(sealed.tail()),
    ):
        assert told(e.StreamSealedError, call, "sealed").definite is Definite.NO
    told(e.ScaleRefusedError, lambda: sealed.split(0), "bad/sealed is sealed")
    sealed.seal()
    assert read(sealed) == [b"in"]


def test_a_transaction_that_never_was(stream: Stream) -> None:
    """Its end may have been forgotten: whether it was committed nobody can tell any more."""
    transaction = stream.transaction(NOBODY)
    for call in (transaction.commit, transaction.abort):
        error = told(e.TransactionFailedError, call, str(NOBODY), "is UNKNOWN", "look for its events")
        assert error.definite is Definite.UNKNOWN


def test_what_is_no_transaction(stream: Stream) -> None:
    text: Any = str(NOBODY)
    told(e.BadInputError, lambda: stream.transaction(text), f"transaction '{NOBODY}'", "UUID(text)")


@pytest.fixture(scope="module")
def group(client: Client, stream: Stream) -> ReaderGroup:
    return client.create_reader_group("bad/group", reading([stream.scoped_name]))


@pytest.mark.parametrize("timeout_s", ["1", float("nan")])
def test_a_timeout_that_is_no_number_of_seconds(stream: Stream, group: ReaderGroup, timeout_s: Any) -> None:
    with (
        stream.follow() as batches,
        stream.segment_reader() as segments,
        stream.byte_reader() as bytes_,
        group.create_reader("one") as reader,
    ):
        calls: list[Callable[[], object]] = [
            lambda: batches.next_batch(timeout_s),
            lambda: segments.read(0, timeout_s=timeout_s),
            lambda: bytes_.read(timeout_s=timeout_s),
            lambda: reader.read_next(timeout_s),
            lambda: reader.read_batch(timeout_s),
        ]
        for call in calls:
            told(e.BadInputError, call, f"timeout_s={timeout_s!r}: give seconds, such as 10.0")
        nothing: Any = None
        told(e.BadInputError, lambda: reader.read_next(nothing), "timeout_s=None: give seconds")


def test_what_is_no_position(group: ReaderGroup) -> None:
    text: Any = "the end"
    told(e.BadInputError, lambda: group.reader_offline("one", text), "'the end'", "reader.position()")


def test_what_has_connections_is_not_sent_to_another_process(
    client: Client, stream: Stream, group: ReaderGroup, table: Table
) -> None:
    """The ways of multiprocessing other than fork, Spark and joblib pickle what a function receives."""
    with (
        stream.writer() as writer,
        stream.read() as batches,
        stream.begin_transaction() as transaction,
        group.create_reader("one") as reader,
    ):
        for thing in (client, stream, table, group, writer, batches, transaction, reader):
            told(
                e.BadInputError, partial(pickle.dumps, thing), "cannot be pickled", "call connect(uri) there"
            )


def test_what_a_table_does_not_take(client: Client, table: Table) -> None:
    told(e.NotFoundError, lambda: client.table("bad/none").get(b"k"), "bad/none", "create()")
    text: Any = "text"
    for call in (
        lambda: table.put(text, b"v"),
        lambda: table.put(b"k", text),
        lambda: table.get(text),
        lambda: table.remove(text),
    ):
        told(e.BadInputError, call, "str", "a table takes bytes")
    told(e.BadInputError, lambda: table.put(b"", b"v"), "a key of 0 bytes")
    told(e.BadInputError, lambda: table.put(b"k", bytes(1 << 20)), "1048576 bytes", "at most 8192", "1048559")
    told(e.ConditionFailedError, lambda: table.put(b"k", b"v", 5), "version 5", "is absent")
    assert table.items() == {}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ScalingPolicy.fixed(0), "ScalingPolicy.fixed: n=0; give a whole number from 1"),
        (lambda: ScalingPolicy.fixed(True), "n=True"),
        (lambda: ScalingPolicy.fixed(2.5), "n=2.5"),  # type: ignore[arg-type]
        (lambda: ScalingPolicy.by_event_rate(0), "ScalingPolicy.by_event_rate: target=0"),
        (lambda: ScalingPolicy.by_event_rate(1, 0), "factor=0"),
        (lambda: ScalingPolicy.by_data_rate(-1), "ScalingPolicy.by_data_rate: kbytes_per_s=-1"),
        (lambda: ScalingPolicy.by_data_rate(1, 1, 0), "min_segments=0"),
    ],
)
def test_a_policy_is_checked_where_it_is_made(make: Callable[[], ScalingPolicy], words: str) -> None:
    told(e.BadInputError, make, words)


@pytest.mark.parametrize(
    ("scaling", "words"),
    [
        (ScalingPolicy(ScalingKind.FIXED, 0, 0, 0), "0 segments; at least 1"),
        (ScalingPolicy(ScalingKind.EVENTS_PER_S, 0, 2, 1), "a target rate of 0 per second; at least 1"),
        (ScalingPolicy(ScalingKind.KBYTES_PER_S, -1, 2, 1), "a target rate of -1"),
    ],
)
def test_a_policy_that_can_never_work(
    client: Client, stream: Stream, scaling: ScalingPolicy, words: str
) -> None:
    told(e.BadInputError, lambda: client.create_stream("bad/policy", scaling=scaling), "bad/policy", words)
    told(e.BadInputError, lambda: stream.update(scaling=scaling), "bad/input", words)
    assert "policy" not in client.list_streams("bad")


@pytest.mark.parametrize(
    "name", ["", "s", "a/b/c", "bad/under_score", "bad/ü", "bad/ ", "/s", "bad/", None, 5]
)
def test_a_name_that_can_never_be(client: Client, name: Any) -> None:
    told(e.BadInputError, lambda: client.create_stream(name))


# Nobody there, or somebody else


@pytest.mark.parametrize(
    "uri",
    [
        *("", "localhost", "http://localhost:9090", "tcp://x:99999", "tcp://x:0", "tcp://a b:1"),
        *("tls://h:9090/x", "tcp://h:9090?x=1", None, 9090),
    ],
)
def test_an_address_that_is_none(uri: Any) -> None:
    told(e.BadInputError, lambda: connect(uri), "tcp://host:port")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("localhost",), "'localhost' is no address of a controller; write tcp://host:port"),
        (("tcp://",), "'tcp://' is no address of a controller; write tcp://host:port"),
        (("http://x:1",), "'http://x:1' is no address of a controller; write tcp://host:port"),
        (("tcp://a b:9090",), "'tcp://a b:9090' is no address of a controller; write tcp://host:port"),
        (
            ("tcp://a:1", "--registry", "b:2"),
            "'b:2' is no address of a schema registry: write http://host:port",
        ),
        (
            ("tcp://a:1", "--registry", "http://b c:2"),
            "'http://b c:2' is no address of a schema registry: write",
        ),
    ],
)
def test_a_catalog_at_no_address(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(("catalog", *words)) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"pravega-lab catalog: {sentence}")
    assert said.out == ""


@pytest.mark.slow
def test_a_controller_that_is_not_there_is_named_within_seconds() -> None:
    begin = time.monotonic()
    with connect("tcp://127.0.0.1:1") as lost:
        words = ("127.0.0.1:1", "within 5 s", "Check that the store runs")
        told(e.StoreUnavailableError, lambda: lost.stream("a/b").write("x"), *words)
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_a_segment_store_is_no_controller(client: Client, stream: Stream) -> None:
    """The other port of the same store: the commonest mistake there is."""
    endpoint = _store_endpoint(client.uri)
    with connect("tcp://{}:{}".format(*endpoint)) as wrong:
        told(e.StoreUnavailableError, wrong.list_scopes, str(endpoint[1]))


# Garbage


def _store_endpoint(uri: str) -> tuple[str, int]:
    controller = ControllerStub(uri)
    info = pb.StreamInfo(scope="bad", stream="input")
    found = controller.call("getURI", pb.SegmentId(streamInfo=info, segmentId=0))
    controller.close()
    return found.endpoint, found.port


def _is_closed(peer: socket.socket) -> bool:
    peer.settimeout(20)
    try:
        while peer.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


GARBAGE = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, struct.pack(">ii", 999, 5) + b"abcde", bytes(70_000)]


def test_garbage_and_half_frames_on_both_ports_disturb_nobody(
    uri: str, client: Client, stream: Stream
) -> None:
    """A writer and a reader at the tail, connected before it, go on over the connections that they have."""
    controller = ("127.0.0.1", int(uri.rsplit(":", 1)[1]))
    ports = [_store_endpoint(uri), controller]
    with stream.writer() as writer, stream.follow(stream.tail()) as batches:
        writer.write("before", "key")
        assert batches.next_batch(30).column(0).to_pylist() == [b"before"]  # type: ignore[union-attr]
        halves = [socket.create_connection(port) for port in ports]
        for half in halves:
            half.sendall(struct.pack(">ii", 25, 1000) + b"half a frame")
        for port in ports:
            for garbage in GARBAGE:
                with socket.create_connection(port) as peer:
                    peer.sendall(garbage)
                    if port == controller or garbage != bytes(70_000):
                        assert _is_closed(peer)
        writer.write("during", "key")
        assert batches.next_batch(30).column(0).to_pylist() == [b"during"]  # type: ignore[union-attr]
        for half in halves:
            half.close()
        writer.write("after", "key")
        assert batches.next_batch(30).column(0).to_pylist() == [b"after"]  # type: ignore[union-attr]
    assert client.list_streams("bad")
