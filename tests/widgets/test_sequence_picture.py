"""A run as a picture with lanes: what is drawn where, the failing line beside it, and the same in words."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pravega_lab.engine.flow.checkpoint.history import Triggering
from pravega_lab.engine.simulation.flow.race import LANES, find, run_race
from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.coordinator_race import WRONG, race_picture, wrong_lines
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.sequence_picture import STEPS_MAX, SequenceStep, sequence_picture
from pravega_lab.widgets.svg.palette import VERMILION
from tests.widgets.pictures import drawn

SVG = "{http://www.w3.org/2000/svg}"
FOUND = find(Triggering.MAILBOX_1_11_0)


def texts(drawing: Drawing) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(drawing.svg)
    return {text.text or "".join(text.itertext()): text for text in root.iter(f"{SVG}text")}


def test_the_found_race_in_at_most_nine_steps_with_the_wrong_line_beside_it() -> None:
    assert FOUND is not None
    assert len(FOUND.steps) <= 9
    drawn = race_picture(FOUND)
    shown = texts(drawn)
    assert {*LANES, *wrong_lines()} <= set(shown)
    marked = [text for text, element in shown.items() if element.get("fill") == VERMILION]
    assert marked == ["× FINALIZE_CHECKPOINT_FAILURE", f"    {WRONG}:"]
    assert "hook external-log" in " ".join(shown)
    assert drawn.words[-1] == f"The line: {WRONG}:"
    told = [line for line in drawn.words if line[0].isdigit()]
    assert len(told) == len(FOUND.steps)
    assert [line for line in told if line.endswith("that is the failure")] == told[-2:-1]


def test_labels_are_within_the_picture() -> None:
    assert FOUND is not None
    for race in (FOUND, run_race(FOUND.seed, Triggering.LOCK)):
        drawn = race_picture(race)
        width = int(drawn.svg.split('viewBox="0 0 ')[1].split()[0])
        for words, text in texts(drawn).items():
            x, letters = float(text.get("x", 0)), len(words) * 5.9
            begin = {"end": x - letters, "middle": x - letters / 2}.get(text.get("text-anchor", ""), x)
            assert begin >= 0, words
            assert begin + letters <= width + 4, words


def test_what_went_well_has_no_code_and_no_vermilion() -> None:
    made = race_picture(run_race(14, Triggering.FIXED), 2)
    assert VERMILION not in drawn(made.svg)
    assert WRONG not in made.svg
    assert made.words[1] == "The checkpoint is complete."


def test_an_arrow_goes_from_lane_to_lane() -> None:
    steps = [SequenceStep(5, "a", "begins"), SequenceStep(9, "b", "gets it", by="a")]
    drawn = sequence_picture("Two", ["a", "b"], steps)
    assert drawn.words == ["Two", "1. 0 µs, a: begins", "2. 4 µs, b: gets it (from a)"]
    shown = texts(drawn)
    a, b, label = (float(shown[name].get("x", 0)) for name in ("a", "b", "gets it"))
    assert a < label < b


def test_of_very_many_steps_the_last_are_drawn_and_the_picture_says_so() -> None:
    steps = [SequenceStep(n, "a", f"step {n}") for n in range(STEPS_MAX + 3)]
    drawn = sequence_picture("Many", ["a"], steps)
    shown = texts(drawn)
    assert "step 3" in shown
    assert "step 2" not in shown
    assert "the first 3 steps are left out" in drawn.words[1]


def test_bad_input_is_named() -> None:
    with pytest.raises(BadInputError, match="no steps"):
        sequence_picture("None", ["a"], [])
    with pytest.raises(BadInputError, match="in lane 'c', and the lanes are a, b"):
        sequence_picture("Other", ["a", "b"], [SequenceStep(0, "c", "x")])


def test_whole_milliseconds_are_shown_as_such() -> None:
    made = sequence_picture(
        "Two", ["a"], [SequenceStep(500, "a", "begins"), SequenceStep(1_234_500, "a", "ends")]
    )
    assert made.words[1:] == ["1. 0 ms, a: begins", "2. 1,234 ms, a: ends"]
