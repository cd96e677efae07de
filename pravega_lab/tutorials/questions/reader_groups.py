"""The exercises of ``notebooks/03-reader-groups.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="03.1",
        asks="Four readers share ten segments. How many segments does each of them have after a while?",
        read=numbers_in_any_order,
        right="3df0e093c1b8759c",
        hints=(
            "Part 3 shows when a reader gives a segment away. When does it stop doing so?",
            "Each of the ten has a reader. No reader has two more than another one.",
        ),
        solution=(
            "c-l3NQ4Yc|3`4Kt15EoEC*TZxB0j?Awi8=}+Q78ilcG(s6vcV6bH8+O4X#IztAR2mjEUpxt#dXA3T0wJoWHETR>qa>u*u#*Di+"
            "PLP04D>!GllDGAxv8uuT!TvGlkpYLenv(;R|>&%JT0I;NQ(nI{<YS>!2eYY6%|v)wAh@%f)0`X6f}Lsk"
        ),
        remarks={
            "c8d978b94aaaa0f9": "Then one of them has two fewer than the others.",
            "81056787340b3f8f": "Those are eight segments, not ten.",
            "9e42246c6c8719b9": "Then one of them has two more than the others.",
        },
    ),
    Exercise(
        number="03.2",
        asks="Which reader does the checkpoint noon wait for?",
        read=word,
        right="b41115b0a46c0de6",
        hints=(
            "Part 3: a checkpoint waits for readers. Which of them were online when it began?",
            "Who was online at entry 5, and who has reported since?",
        ),
        solution=(
            "c-l>l!3x4a3`Borjuxah5xn^++3x7B)}-tPihplf5j+HvNiy@2r4d(5h0}Afs*Y8vcigPO3(+W<tw%4hVk1oFs>E8TsE)+DC=O"
            "I_Z=8k;L^UcSZO+?Jq=(I7&6$6P=V8Re7akEA>MYK7M7KTj4<;Ks)V@?ZRD6veeDXgR"
        ),
        remarks={
            "75a1bc489602958d": "That reader came when the checkpoint had begun.",
            "33de7064c646eeb8": "Entry 7 says that this reader has passed it.",
        },
    ),
)
