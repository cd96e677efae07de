"""The exercises of ``notebooks/04-break-it.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="04.1",
        asks="In which run is an event twice in the stream, so that every reader to come finds it twice?",
        read=word,
        right="87dc6f3a1c975134",
        hints=(
            "Doubled means that it was read twice. Where did the two copies lie?",
            "`stored(...)` counts what is in a stream. How many should there be?",
        ),
        solution=(
            "c-k$DQ3}E^5Jays2Pg%>FK^(#7l_R?3D{lPT`j%6Y4B^{G4I(&aGCL_G$JbTHZ7Jm?4~iu29<@_)HuQQL<e4tNP*ZDx~|Uf8Fz"
            "v8+7(PoMRRy`Cl7r>l05FllxaQ|EpAAE)Wf~_WNG3M-LW>w4t{Az)Fx$w<{x?BK4<"
        ),
        remarks={"a9c733f983c137e2": "There every event is stored once."},
    ),
    Exercise(
        number="04.2",
        asks="Run 5: how many events of segment 0 are gone from the stream?",
        read=whole_number,
        right="141777faddf7881b",
        hints=(
            "The table `cut` says in bytes where a segment begins now.",
            "All events of these runs have the same size: `EVENT_BYTES`.",
        ),
        solution=(
            "c-kF}OAf*?3`DOo2dFB<UmSuJ7f6VkL~3m*F;uxdHVcmzZ$7v416l~3@<yzPlq+`x#br92j$qj*1WtCKuRBWUxZV+mQlIe@Cdl"
            "F)8+Jphbe*tBLlQS9G&1?~u&y&+?ZfY&RT#Bfzb9<albrqAOdC<sa2}~tTdz9*0Mb4=+W"
        ),
        remarks={
            "2737a4dd116c6038": "So many were lost: those that nobody had read.",
            "dc52f0ae3e57eeab": "That is segment 2.",
        },
    ),
)
