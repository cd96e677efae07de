"""Who may do what: passwords, permission strings, tokens, and what the controller asks of each call."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import UUID

import pytest

from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.engine.store.security import tokens
from pravega_lab.engine.store.security.access_control import AccessControl
from pravega_lab.engine.store.security.passwords import (
    User,
    matches,
    parse_password_file,
    password_line,
)
from pravega_lab.engine.store.security.permissions import Permission, parse_acl, permission_on
from pravega_lab.engine.store.security.rules import RULES
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from tests.engine.store.controller.driver import Driven

KEY, SALT = b"k" * 64, b"s" * 32
READ, UPDATE = Permission.READ, Permission.READ_UPDATE
NOW_MS = 1_700_000_000_000
# The line of the user "admin" in the distribution of a released 0.13.0.
RELEASED = (
    "admin:"
    "353030303a633132666135376233353937356534613430383430373939343839333733616463363433616532"
    "363238653930346230333035393666643961316264616661393a363937633062366339663434386464326266"
    "3335326463653062613965336439613864306264323839633037626166663563613166333733653631383732"
    "3531346439613034356132376531303536336330316533643665653164346265346565656363356636663064"
    "65663064376165313765646263656638373764396361"
    ":prn::*,READ_UPDATE;"
)


def user(name: str, acl: str) -> User:
    return User(
        name, parse_password_file(password_line(name, "word", acl, SALT, 1))[name].hash, parse_acl(acl)
    )


# passwords


def test_a_line_of_the_released_server_is_read() -> None:
    [admin] = parse_password_file(f"# users\n\n{RELEASED}\n").values()
    assert admin.name == "admin"
    assert admin.hash.iterations == 5000
    assert matches("1111_aaaa", admin.hash)
    assert not matches("1111_aaab", admin.hash)
    assert permission_on(admin.acl, "prn::/scope:any/stream:any") == UPDATE
    assert RELEASED[6:40] not in repr(admin)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line has a user"),
        ("eve:zz:prn::*,READ", "line 1, user 'eve': the second field is no hash"),
        (f"eve:{b'0:00:00'.hex()}:prn::*,READ", "1 to 10000000 are taken"),
        (password_line("eve", "w", "", SALT, 1) + "prn::*", "'prn::\\*' has no level"),
        (password_line("eve", "w", "", SALT, 1) + "*,READ", "names no resource"),
    ],
)
def test_a_bad_password_file_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        parse_password_file(text)


def test_a_line_that_a_released_server_accepts_is_accepted_with_a_warning() -> None:
    first, second = (password_line("eve", word, "prn::*,READ", SALT, 1) for word in ("old", "new"))
    warnings: list[str] = []
    users = parse_password_file(f"# users\n{first}\nann{first[3:]}\n{second}\n{second[3:]}", warnings.append)
    assert {name: len(user.acl) for name, user in users.items()} == {"eve": 1, "ann": 1, "": 0}
    assert matches("new", users["eve"].hash)
    assert warnings == [
        "line 4, user 'eve': line 2 is for the same user and no longer counts. Remove one of the two lines",
        "line 5: there is no name before the first colon, so the line allows nothing."
        " Write a user's name there, or remove it",
    ]


@pytest.mark.parametrize(("name", "word"), [("a:b", "w"), ("", "w"), (" ", "w"), ("#a", "w"), ("a", "")])
def test_a_line_that_could_not_be_read_is_not_made(name: str, word: str) -> None:
    with pytest.raises(BadInputError):
        password_line(name, word, "prn::*,READ", SALT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_java_ends_them(end: str) -> None:
    names = ["ann", "b\u2028c", "d\x0be", "f\x85g"]
    text = end.join(password_line(name, "word", "prn::*,READ", SALT, 1) for name in names) + end
    assert list(parse_password_file(text)) == names
    for acl in (f"prn::*,READ;{end}prn::/,READ", f"prn::*,READ{end}"):
        with pytest.raises(BadInputError, match="permissions have no line break"):
            password_line("ann", "word", acl, SALT)


# permissions


@pytest.mark.parametrize(
    ("acl", "resource", "expected"),
    [
        ("prn::*,READ", "prn::/", READ),
        ("prn::/*,READ", "prn::/scope:a/stream:b", READ),
        ("prn::/.*,READ", "prn::/", Permission.NONE),
        ("prn::/scope:a,READ_UPDATE", "prn::/scope:a/stream:b", Permission.NONE),
        ("prn::/scope:a/*,READ_UPDATE", "prn::/scope:a", Permission.NONE),
        ("prn::/scope:a/*,READ_UPDATE", "prn::/scope:ab/stream:c", Permission.NONE),
        ("prn::/scope:a*,READ", "prn::/scope:ab/stream:c", READ),
        ("prn::/scope:a/stream:b,READ;prn::/scope:a/*,READ_UPDATE;", "prn::/scope:a/stream:b", READ),
        ("prn::/scope:a/stream:b,READ;prn::/scope:a/*,READ_UPDATE", "prn::/scope:a/stream:c", UPDATE),
        ("prn::/scope:a.c,READ", "prn::/scope:abc", Permission.NONE),  # upstream: any letter for the dot
        ("", "prn::/", Permission.NONE),
    ],
)
def test_the_first_entry_that_names_a_resource_decides(acl: str, resource: str, expected: Permission) -> None:
    assert permission_on(parse_acl(acl), resource) == expected


def test_every_call_has_a_rule() -> None:
    assert set(METHODS) - set(RULES) == set()


# tokens


def test_a_token_allows_what_it_says_until_it_expires() -> None:
    text = tokens.issue(KEY, "prn::/scope:a/stream:b", READ, NOW_MS, ttl_s=10)
    token = tokens.parse(KEY, text)
    for segment in ("a/b", "a/b/0.#epoch.0", "a/b/0.#epoch.0#transaction.1", "a/b_kvtable/0.#epoch.0"):
        token.check(segment, READ, NOW_MS + 10_000)
        with pytest.raises(tokens.BadTokenError, match="does not allow READ_UPDATE"):
            token.check(segment, UPDATE, NOW_MS)
    for other in ("a/bc/0.#epoch.0", "a", "b", "x/a/b"):
        with pytest.raises(tokens.BadTokenError, match="does not allow READ"):
            token.check(other, READ, NOW_MS)
    with pytest.raises(tokens.ExpiredTokenError):
        token.check("a/b", READ, NOW_MS + 10_001)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[:-2],
        lambda text: text + "A",
        lambda text: "x" * 5000,
        lambda text: text.replace(".", ""),
        lambda text: forged(text, alg="none"),
        lambda text: forged(text, exp=NOW_MS),
        lambda text: "é" + text,
    ],
)
def test_a_token_that_was_changed_is_refused(change: Any) -> None:
    text = tokens.issue(KEY, "prn::/scope:a/stream:b", UPDATE, NOW_MS)
    tokens.parse(KEY, text)
    with pytest.raises(tokens.BadTokenError):
        tokens.parse(KEY, change(text))
    with pytest.raises(tokens.BadTokenError, match="not signed by this cluster"):
        tokens.parse(b"another", text)


def forged(text: str, **fields: object) -> str:
    part = 0 if "alg" in fields else 1
    parts = text.split(".")
    claims = json.loads(base64.urlsafe_b64decode(parts[part] + "==")) | fields
    parts[part] = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return ".".join(parts)


def test_a_name_with_markers_gets_no_token_for_another_scope() -> None:
    """Upstream would read this claim as one for abc/s."""
    text = tokens.issue(KEY, "prn::/scope:a/scope:bc/stream:s", UPDATE, NOW_MS)
    with pytest.raises(tokens.BadTokenError, match="does not allow"):
        tokens.parse(KEY, text).check("abc/s/0.#epoch.0", READ, NOW_MS)


def test_a_token_of_a_table_is_none_for_the_stream_of_that_name() -> None:
    token = tokens.parse(KEY, tokens.issue(KEY, "prn::/scope:a/key-value-table:b", UPDATE, NOW_MS))
    token.check("a/b_kvtable/0.#epoch.0", UPDATE, NOW_MS)
    for other in ("a/b/0.#epoch.0", "a/b", "a/c_kvtable/0.#epoch.0"):
        with pytest.raises(tokens.BadTokenError, match="does not allow READ"):
            token.check(other, READ, NOW_MS)


# the controller


ADMIN = user("admin", "prn::*,READ_UPDATE")
READER = user("reader", "prn::/,READ;prn::/scope:s,READ;prn::/scope:s/stream:one,READ")
GROUPS = user("groups", "prn::/scope:s,READ;prn::/scope:s/*,READ")


@pytest.fixture
def guarded() -> Driven:
    """A controller with users, a scope and two streams."""
    driven = Driven(now_ms=NOW_MS, access=AccessControl({}, KEY, ttl_s=60))
    driven.user = ADMIN
    for stream in ("one", "two"):
        driven.make(stream)
    driven.call("createScope", pb.ScopeInfo(scope="hidden"))
    return driven


def refusal(driven: Driven, who: User | None, method: str, request: Any) -> str:
    driven.user = who
    with pytest.raises(RpcError) as refused:
        driven.call(method, request)
    return refused.value.code_name


@pytest.mark.parametrize("method", METHODS)
def test_no_call_is_answered_without_a_user(guarded: Driven, method: str) -> None:
    assert refusal(guarded, None, method, METHODS[method].request()) == "UNAUTHENTICATED"


def test_who_may_read_may_not_change(guarded: Driven) -> None:
    one = pb.StreamInfo(scope="s", stream="one")
    for method, request in (
        ("createScope", pb.ScopeInfo(scope="new")),
        ("createStream", pb.StreamConfig(streamInfo=pb.StreamInfo(scope="s", stream="new"))),
        ("sealStream", one),
        ("deleteStream", one),
        ("createTransaction", pb.CreateTxnRequest(streamInfo=one, lease=10_000)),
        ("getStreamConfiguration", pb.StreamInfo(scope="s", stream="two")),
        ("getCurrentSegments", one),
    ):
        assert refusal(guarded, READER, method, request) == "PERMISSION_DENIED"
    guarded.user = READER
    assert guarded.call("getStreamConfiguration", one).streamInfo == one
    only_look = pb.StreamInfo(scope="s", stream="one", accessOperation=pb.StreamInfo.NONE)
    answer = guarded.call("getCurrentSegments", only_look)
    assert len(answer.segmentRanges) == 1
    assert answer.delegationToken == ""


@pytest.mark.parametrize("method", ["createReaderGroup", "updateReaderGroup"])
def test_who_may_not_read_a_stream_does_not_hold_back_its_retention(guarded: Driven, method: str) -> None:
    cuts = [pb.StreamCut(streamInfo=pb.StreamInfo(scope="s", stream=stream)) for stream in ("one", "two")]
    group = pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName="g",
        maxOutstandingCheckpointRequest=1,
        readerGroupId=str(UUID(int=1)),
        startingStreamCuts=cuts,
    )
    guarded.user = ADMIN
    guarded.call("createReaderGroup", group)
    group.retentionType = 2
    assert refusal(guarded, READER, method, group) == "PERMISSION_DENIED"
    guarded.user = ADMIN
    assert not guarded.call("listSubscribers", cuts[1].streamInfo).subscribers
    guarded.user = GROUPS
    guarded.call("updateReaderGroup", group)
    guarded.user = ADMIN
    assert list(guarded.call("listSubscribers", cuts[1].streamInfo).subscribers) == ["s/g"]


def test_lists_leave_out_what_a_user_may_not_read(guarded: Driven) -> None:
    guarded.user = READER
    assert list(guarded.call("listScopes", pb.ScopesRequest()).scopes) == ["s"]
    request = pb.StreamsInScopeRequest(scope=pb.ScopeInfo(scope="s"))
    page = guarded.call("listStreamsInScope", request)
    assert [info.stream for info in page.streams] == ["_MARKone", "one"]
    request.continuationToken.CopyFrom(page.continuationToken)
    assert not guarded.call("listStreamsInScope", request).streams


def test_a_page_without_readable_names_does_not_end_a_list(guarded: Driven) -> None:
    for number in range(1001):
        guarded.call("createScope", pb.ScopeInfo(scope=f"a{number:04}"))
    guarded.user = READER
    assert list(guarded.call("listScopes", pb.ScopesRequest()).scopes) == ["s"]


@pytest.mark.parametrize(
    ("who", "stream", "operation", "allowed"),
    [
        (READER, "one", "READ", READ),
        (READER, "one", "READ_WRITE", None),
        (READER, "one", "UNSPECIFIED", None),
        (READER, "two", "READ", None),
        (READER, "_MARKone", "WRITE", UPDATE),
        (READER, "_RGgroup", "READ", None),
        (GROUPS, "_RGgroup", "READ_WRITE", UPDATE),
        (GROUPS, "_RGgroup", "UNSPECIFIED", None),
        (GROUPS, "two", "WRITE", None),
        (ADMIN, "two", "UNSPECIFIED", UPDATE),
    ],
)
def test_who_gets_which_token(
    guarded: Driven, who: User, stream: str, operation: str, allowed: Permission | None
) -> None:
    kind = pb.StreamInfo.AccessOperation.Value(operation)
    request = pb.StreamInfo(scope="s", stream=stream, accessOperation=kind)
    if allowed is None:
        assert refusal(guarded, who, "getDelegationToken", request) == "PERMISSION_DENIED"
        return
    guarded.user = who
    text = guarded.call("getDelegationToken", request).delegationToken
    assert tokens.parse(KEY, text) == tokens.Token({f"s/{stream}": allowed}, NOW_MS // 1000 + 60)


def test_tokens_come_with_answers_that_writers_use(guarded: Driven) -> None:
    one = pb.StreamInfo(scope="s", stream="one")
    for method, request in (
        ("getCurrentSegments", one),
        ("createTransaction", pb.CreateTxnRequest(streamInfo=one, lease=10_000)),
    ):
        text = guarded.call(method, request).delegationToken
        tokens.parse(KEY, text).check("s/one/0.#epoch.0", UPDATE, NOW_MS)


def test_who_may_use_a_table_gets_no_token_for_the_stream_of_that_name(guarded: Driven) -> None:
    config = pb.KeyValueTableConfig(scope="s", kvtName="one", partitionCount=1, primaryKeyLength=4)
    guarded.call("createKeyValueTable", config)
    guarded.user = user("bob", "prn::/scope:s/key-value-table:one,READ_UPDATE")
    info = pb.KeyValueTableInfo(scope="s", kvtName="one")
    token = tokens.parse(KEY, guarded.call("getCurrentSegmentsKeyValueTable", info).delegationToken)
    token.check("s/one_kvtable/0.#epoch.0", UPDATE, NOW_MS)
    with pytest.raises(tokens.BadTokenError, match="does not allow READ"):
        token.check("s/one/0.#epoch.0", READ, NOW_MS)
