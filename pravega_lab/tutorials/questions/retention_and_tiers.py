"""The exercises of ``notebooks/14-retention-and-tiers.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="14.1",
        asks="At least 25,000 bytes, six portions of 10,000 bytes: how many of the 600 events can be read?",
        read=whole_number,
        right="218d976f7376f0c9",
        hints=(
            "Part 1: the store truncates only at cuts that it noted, and these are after whole portions.",
            "Which is the newest of these cuts that keeps 25,000 bytes or more?",
        ),
        solution=(
            "c-l3}Q3}E^5CqVx%mIP~#UKAY$eK<_FlI}3ZRza|1wRI6nD>-a(ABvheI3;x**PFsb$HbtU<xmsyVZ2yO|FK$Xyc#Q;{=&I&1V%yk"
            "&U?CLyQrx!)efgj}Ag+ybLlx`hwd8+}PdDr!o8G2RFJiN&"
        ),
        remarks={"c8037a56602bd70b": "The policy would allow it, but the store noted no cut there."},
    ),
    Exercise(
        number="14.2",
        asks="15,000 to 45,000 bytes, a group that releases nothing, seven portions: how many are lost?",
        read=whole_number,
        right="d4e545ff60d010b1",
        hints=(
            "Part 2: below the maximum the store waits for the group. After which portion is there more?",
            "The store then truncates at the cut that keeps most within both limits, each time.",
        ),
        solution=(
            "c-l>l-3`Jp41`y?0jere%L{MJKo>}h+eFYfN?Z!t;{@>|#fr|lJAZ>CWZ^{Et(T0M6GV4Q;w?g-F#1DdjKTO6$}LW_(AzWnSsWrK@"
            "f^xVTddB(6n_I7F7N_LTbQh7VWsA#t^6vkL@{IKEZDs`A26~u-u$X44SMr`cPONGB{&-+1#SC+WdG1uIad|kDg3}%oEhCm<x044pd"
            "&ghuio6g0Cc=sO8"
        ),
    ),
)
