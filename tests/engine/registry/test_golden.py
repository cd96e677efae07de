"""The calls recorded from the released registry 0.6.0, made again in their order on one fresh registry.

The server was recorded with both of its stores. Each answer must be that of one of them: status, every member
of the JSON, and the beginning of a refusal's text, which may continue with what to do. ``DELIBERATE`` lists
where we differ, how, and why.
"""

from __future__ import annotations

import pytest

from pravega_lab.engine.registry.registry import Registry
from pravega_lab.engine.registry.requests import Answer
from tests.engine.registry.recording import Exchange, answered, comparable, exchanges

CRASH = "the released server crashes: 500 with an exception of Java"
DELIBERATE: dict[str, tuple[int, str]] = {
    "24": (400, CRASH),
    "26": (400, CRASH),
    "27": (400, "the text is our parser's"),
    "28": (400, CRASH),
    "31": (200, "the store in memory ignores the limit, and the order of groups is a hash map's"),
    "32": (200, "tokens are ours"),
    "33": (400, "a wrong token gets an empty page, or no answer at all"),
    "34": (400, "a limit of 0 is ignored, or ends the listing"),
    "49": (400, "the text is our parser's"),
    "54": (200, CRASH + "; the policy is optional"),
    "65": (200, CRASH + "; an unknown type has no schemas"),
    "86": (400, CRASH),
    "87": (400, CRASH),
    "108": (400, "the released server says nothing"),
    "109": (400, "no answer at all"),
    "110": (400, CRASH),
    "8": (400, "the released server says nothing"),
    "190": (400, "an empty name is accepted, and no listing works any more"),
    "191": (200, "see 190"),
    "192": (200, "see 190"),
}
ALL = exchanges()
FIRST = [one for one in ALL if not one.number.startswith("P")]
OTHER_STORE = {one.number[1:]: one for one in ALL if one.number.startswith("P")}


@pytest.fixture(scope="module")
def replayed() -> dict[str, Answer]:
    registry = Registry()
    found = {}
    for number, one in enumerate(FIRST):
        decision = registry.decide(one.request, now_ms=number)
        registry.apply(decision.records)
        found[one.number] = decision.answer
    return found


def test_the_recording_is_whole() -> None:
    assert [one.number for one in FIRST] == [str(number) for number in range(1, 193)]
    assert len(OTHER_STORE) == 13
    assert sum(one.json is not None for one in FIRST) == 87


def test_another_answer_is_noticed() -> None:
    one = next(one for one in FIRST if one.json)
    assert answered(Answer(one.status, b"{}")) != comparable(one.status, one.body)


@pytest.mark.parametrize("one", [o for o in FIRST if o.number not in DELIBERATE], ids=lambda o: o.number)
def test_as_recorded(one: Exchange, replayed: dict[str, Answer]) -> None:
    answer = answered(replayed[one.number])
    recorded = [comparable(one.status, one.body, one.headers)]
    if one.number in OTHER_STORE:
        other = OTHER_STORE[one.number]
        recorded.append(comparable(other.status, other.body, other.headers))
    if one.status >= 400 and one.body:
        assert answer[0] == one.status
        assert answer[1].startswith(one.body)
    else:
        assert answer in recorded


@pytest.mark.parametrize("number", DELIBERATE)
def test_differs_as_said(number: str, replayed: dict[str, Answer]) -> None:
    status, why = DELIBERATE[number]
    answer = replayed[number]
    assert answer.status == status
    assert why
    if status == 400:
        assert len(answer.body) > 20  # it says what is wrong


def test_a_restart_changes_no_answer(replayed: dict[str, Answer]) -> None:
    kept: dict[str, bytes] = {}
    registry = Registry()
    for number, one in enumerate(FIRST):
        registry = Registry(kept.items())  # as after a restart
        decision = registry.decide(one.request, now_ms=number)
        for key, value in decision.records:
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = value
        assert answered(decision.answer) == answered(replayed[one.number]), one.name
