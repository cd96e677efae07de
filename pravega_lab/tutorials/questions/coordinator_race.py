"""The exercises of ``notebooks/12-a-race-in-the-coordinator.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="12.1",
        asks="Which of the seeds 50 to 99 fail with the coordinator of 1.11.0?",
        read=numbers_in_any_order,
        right="4a7f0a8e8cb7bf75",
        hints=(
            "`failing` takes the seeds as its second argument.",
            "`range(50, 100)` are the seeds, and `Triggering.MAILBOX_1_11_0` is the way.",
        ),
        solution=(
            "c-kG!u?oW=6h`4!`NsrAl#)WSwOgU3ONMT8Nv`HnF`#D1+gG}MoaGD`h0%c0it#$ZlSE0Oo3n(#xlzAvkLUgUan@Puj6$Xq"
            "xEq?RF@3KwZ<!gphZkSZ3FTNe5Gt1nDOe~*Ug0BsPxT+Qn2!VsBuW1O-WVu;"
        ),
        remarks={"4d00f7f407993e69": "Those are among the first fifty."},
    ),
    Exercise(
        number="12.2",
        asks="Seed 53, 1.11.0: by how many microseconds did the state of the hook come too late?",
        read=whole_number,
        right="f1cee28234425003",
        hints=(
            "`run_race` gives the run of a seed, `times` the moments of its steps.",
            "From the step that fails to the one that is too late.",
        ),
        solution=(
            "c-ke5K@Nj33<STj52z|QP#S*YI;M$2Y(y+o>g!ABakR5Dj$v5fNkClGKAXh1R8fbmcwx;-TmDMC6i&irw|uVTcutRin)$FM"
            "Y#Q4Qq<^tFx%5JZWLCgbrJuq)h5HXxw<qo"
        ),
    ),
    Exercise(
        number="12.3",
        asks="Seed 14 with the lock: how many microseconds did the acknowledgement of b stand in line?",
        read=whole_number,
        right="483dd863117f4796",
        hints=(
            "When it arrived, you see where nobody stands in line.",
            "The row `ack 2 of b` of the table `moments`: with the lock, and mended.",
        ),
        solution=(
            "c-kF}Q3}H_3`4J?1C+6ameJkD#2yJ*ZE(VJ{l)v0-jmXq_7~~^x!12SXyCY~2d<jkx@1%C8>nLx!6nLz$!5+~X_%uIn*k_e"
            "21QL2Rb%IQ?#G5%RuFPAYbdlXv`_K)T2eG0%k6K!UF7xyLya;L"
        ),
        remarks={"258ee7aa62114e42": "That is how long the one of a did."},
    ),
)
