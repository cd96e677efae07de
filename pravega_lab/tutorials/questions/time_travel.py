"""The exercises of ``notebooks/05-time-travel.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="05.1",
        asks="The clock is at 16.2 s. With which checkpoint does a fork begin?",
        read=word,
        right="bbe9f39e96504736",
        hints=(
            "Part 4: a fork needs a cut. When is the cut of a checkpoint known?",
            "`checkpoints.frame` says when each was asked for, and when it was over.",
        ),
        solution=(
            "c-lRUT?)cL41}*T2Ur#r6`%Dav754`HCdX-(%T!M^l4yzzER<fSLI=DI*G%(qLYDa=7LdIkmG#MCxj;jgMQk=&bxhsCG^SyuZ)"
            "Gvu`(52QK_JjSx_d=cyh2fTCo#-YuPZ1c8kz3d_BQ*XI|p!pdEiIjLH6zpd%jn3d=w6O+Q)"
        ),
        remarks={"5a7c34df04e7e3e7": "That was asked for by then, but not everybody had passed it."},
    ),
    Exercise(
        number="05.2",
        asks="Segment 1 went from bob to cem. For how many milliseconds had nobody got it?",
        read=whole_number,
        right="f23d910895dc2573",
        hints=(
            "In the lane of nobody it is a bar. What is its length?",
            "`readers.moves` has a column `gap_ms`. Look for the row from bob to cem.",
        ),
        solution=(
            "c-kF}K@Nj33<STjQm-f?%@2C$KTK>&q>!kwDc`T*X6^2bQw&)8f|C?1xzZ3uU)NfifD9>xIYK8;V`SMu`FoUW^oTe&X($G"
            "z6Sk2}ND;fDlF0~o9d^4nVsLRpdvBoCOFUzkp#kqcAXR=YQpvrsx=H;0?9%K;2}6jTxn8)4(YoDP_ygz(KDP"
        ),
        remarks={
            "d3675228bc807d70": "So long nobody had the successors, when the split segment had been read."
        },
    ),
)
