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
        asks="Segment 4 went from cem to ann. For how many milliseconds had nobody got it?",
        read=whole_number,
        right="9fcf7c57d2ec3538",
        hints=(
            "In the lane of nobody it is a bar. What is its length?",
            "`readers.moves` has a column `gap_ms`. Look for the row from cem to ann.",
        ),
        solution=(
            "c-l3NVGe>Y3`Vc=CH^&wCJ5mW9-?lQEkH+Tbspah<IleIy>{$J2hS@edNWQP9^_|~$bw{u6tIyh2l&W--f|Lym3#&nuD!cmpbj"
            "Jgr2>nU{@o?#xq6jYWT=rbo_Rke;ZMbB<=T+|tE)|E&B1j;Yu=fp#I*1s1m0-3*UpM0?ae~TezIhXNhTz%C)L~+fni27"
        ),
        remarks={
            "3bc67a22607b6eb4": "That was its way from ann to cem, when the split had been read.",
            "18c587647132da9a": "That is the way back, from ann to cem.",
        },
    ),
)
