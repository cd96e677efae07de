"""When a view may be sent to, and the thread that does it."""

from __future__ import annotations

import threading
from itertools import pairwise

from pravega_lab.widgets.live.pace import (
    ANSWER_MS,
    GONE_MS,
    PERIOD_MS,
    QUIET_MS,
    SILENT_MS,
    SLOW_PERIOD_MS,
    UNANSWERED_MAX,
    Pace,
)
from pravega_lab.widgets.live.payload import Payload
from pravega_lab.widgets.live.publisher import Publisher
from tests.waiting import wait_until

LIMIT_S = 10


def shown() -> Pace:
    pace = Pace()
    pace.heard("page", now_ms=0)
    return pace


def test_nothing_is_sent_while_nobody_looks() -> None:
    assert not Pace().may_send(now_ms=0)
    pace = shown()
    pace.left("page", now_ms=900)
    assert not pace.may_send(now_ms=1000)


def test_a_page_that_was_reloaded_does_not_keep_the_thread_alive() -> None:
    pace = shown()
    pace.heard("page after reload", now_ms=SILENT_MS - 1)
    pace.left("page after reload", now_ms=SILENT_MS)
    assert not pace.wanted(now_ms=SILENT_MS)


def test_a_page_whose_last_word_was_lost_does_not_keep_the_thread_alive() -> None:
    pace = shown()
    pace.heard("page after reload", now_ms=SILENT_MS // 2)
    pace.left("page after reload", now_ms=SILENT_MS // 2)  # before the first page has been silent for long
    assert pace.wanted(now_ms=SILENT_MS)
    assert not pace.wanted(now_ms=SILENT_MS // 2 + SILENT_MS)


def test_a_page_that_speaks_after_another_left_keeps_the_thread_alive() -> None:
    pace = shown()
    pace.heard("other", now_ms=100)
    pace.left("other", now_ms=200)
    pace.heard("page", now_ms=2000)
    assert pace.wanted(now_ms=20 * SILENT_MS)  # a cell may block the kernel, which hears nothing then


def test_ten_a_second_at_most() -> None:
    pace = shown()
    assert pace.may_send(now_ms=0)
    pace.sent(1, now_ms=0)
    assert not pace.may_send(now_ms=PERIOD_MS - 1)
    assert pace.may_send(now_ms=PERIOD_MS)


def test_few_unanswered_at_most() -> None:
    pace = shown()
    for seq in range(UNANSWERED_MAX):
        assert pace.may_send(now_ms=PERIOD_MS * seq)
        pace.sent(seq, now_ms=PERIOD_MS * seq)
    now_ms = PERIOD_MS * UNANSWERED_MAX
    assert not pace.may_send(now_ms=now_ms)
    pace.answered(0, now_ms=now_ms)
    assert pace.may_send(now_ms=now_ms)


def test_an_answer_counts_for_all_before_it() -> None:
    pace = shown()
    pace.sent(1, now_ms=0)
    pace.sent(2, now_ms=100)
    pace.answered(2, now_ms=150)
    assert pace.unanswered == 0


def test_a_kernel_that_cannot_hear_goes_on_slower() -> None:
    pace = shown()
    sent = []
    for now_ms in range(0, 4000, 20):
        if pace.may_send(now_ms=now_ms):
            pace.sent(len(sent), now_ms=now_ms)
            sent.append(now_ms)
    assert 4 * UNANSWERED_MAX <= len(sent) <= 5 * UNANSWERED_MAX  # so many for every second without an answer
    assert max(b - a for a, b in pairwise(sent)) <= ANSWER_MS


def test_a_silent_page_costs_little_and_a_forgotten_one_nothing() -> None:
    pace = shown()
    pace.sent(1, now_ms=QUIET_MS)
    in_the_period = QUIET_MS % SLOW_PERIOD_MS
    assert not pace.may_send(now_ms=QUIET_MS - in_the_period + SLOW_PERIOD_MS - 1)
    assert pace.may_send(now_ms=QUIET_MS - in_the_period + SLOW_PERIOD_MS)
    assert not pace.may_send(now_ms=GONE_MS)
    pace.heard("page", now_ms=GONE_MS)
    assert pace.may_send(now_ms=GONE_MS + 1)


def test_all_views_send_at_the_same_times() -> None:
    one, another = shown(), shown()
    one.sent(1, now_ms=0)
    another.sent(1, now_ms=PERIOD_MS - 10)
    assert one.may_send(now_ms=PERIOD_MS)
    assert another.may_send(now_ms=PERIOD_MS)


def test_a_view_that_nobody_sees_costs_little() -> None:
    pace = shown()
    pace.heard("page", now_ms=0, seen=False)
    pace.sent(1, now_ms=0)
    pace.answered(1, now_ms=10)
    assert not pace.may_send(now_ms=SLOW_PERIOD_MS - 1)
    assert pace.may_send(now_ms=SLOW_PERIOD_MS)
    pace.heard("another page", now_ms=20)
    assert pace.may_send(now_ms=PERIOD_MS)
    pace.left("another page", now_ms=30)
    assert not pace.may_send(now_ms=PERIOD_MS)
    pace.heard("page", now_ms=40)
    assert pace.may_send(now_ms=PERIOD_MS)


class Receiver:
    def __init__(self, growing: bool = True) -> None:
        self.got: list[tuple[int, str]] = []
        self.changed = threading.Condition()
        self.growing = growing
        self.news = 1_000_000 if growing else 0
        self.publisher = Publisher(self.produce, self.send, lambda: self.growing)

    def produce(self, everything: bool) -> Payload | None:
        if not everything and self.news <= 0:
            return None
        self.news -= not everything
        return Payload("snapshot" if everything else "delta", {"a": b"1234"})

    def send(self, seq: int, payload: Payload) -> None:
        with self.changed:
            self.got.append((seq, payload.kind))
            self.changed.notify_all()

    def wait(self, n: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.got) >= n, LIMIT_S)


def test_hello_gives_a_snapshot_then_deltas_while_answered() -> None:
    receiver = Receiver()
    receiver.publisher.hello("page")
    for n in range(1, 4):
        receiver.wait(n)
        receiver.publisher.answered(n)
    assert receiver.got[:3] == [(1, "snapshot"), (2, "delta"), (3, "delta")]
    receiver.publisher.hello("another page")
    receiver.wait(len(receiver.got) + 2)
    assert "snapshot" in [kind for _, kind in receiver.got[3:]]
    receiver.publisher.close()
    assert not receiver.publisher.running
    assert receiver.publisher.sent_bytes == 4 * len(receiver.got)


def test_of_a_recording_one_snapshot_and_the_thread_ends() -> None:
    receiver = Receiver(growing=False)
    receiver.publisher.hello("page")
    receiver.wait(1)
    wait_until(lambda: not receiver.publisher.running)
    assert receiver.got == [(1, "snapshot")]
    receiver.publisher.hello("page")
    receiver.wait(2)
    assert receiver.got[1] == (2, "snapshot")


def test_when_a_journal_ends_the_page_gets_the_rest_and_hears_of_it() -> None:
    receiver = Receiver()
    receiver.publisher.hello("page")
    receiver.wait(1)
    receiver.growing, receiver.news = False, 1
    wait_until(lambda: not receiver.publisher.running)
    assert receiver.got[-1][1] == "delta"


def test_the_thread_ends_when_the_last_page_leaves() -> None:
    receiver = Receiver()
    receiver.publisher.hello("page")
    receiver.wait(1)
    receiver.publisher.bye("page")
    wait_until(lambda: not receiver.publisher.running)


def test_errors_are_kept_and_the_view_goes_on() -> None:
    receiver = Receiver()
    failing = iter([True])

    def produce(everything: bool) -> Payload | None:
        if next(failing, False):
            raise ValueError("once")
        return receiver.produce(everything)

    receiver.publisher._produce = produce
    receiver.publisher.hello("page")
    receiver.wait(1)
    receiver.publisher.close()
    assert [str(e) for e in receiver.publisher.errors] == ["once"]
