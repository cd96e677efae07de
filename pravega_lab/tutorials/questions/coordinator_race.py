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
            "c-kG!u?mAQ6a~;<xuZe|3B`hL?N+e3ICKjS`w|}wQDPkYd!^giPIFUe4Jdul-aB}bC@EB9mJm2!)bGcue-0mKowd#=WJ-an=8`"
            "q0t~JIvGh^}a;>*!t<z<bGiDJaIPcsOGw*nvOcc_1r_XH`RK$7$cId&;u"
        ),
        remarks={"4d00f7f407993e69": "Those are among the first fifty."},
    ),
    Exercise(
        number="12.2",
        asks="Seed 53, 1.11.0: by how many microseconds did the state of the hook come too late?",
        read=whole_number,
        right="f1cee28234425003",
        hints=(
            "`run_race` gives the run of a seed, and `times` the moments of its steps.",
            "Subtract the moment of the step that fails from the moment of the step that is too late.",
        ),
        solution=(
            "c-ke5K@Nj33<STj52z|QP#S*YI;M$2Y(y+o>g!ABakR5Dj$v5fNkClGKAXh1R8fbmcwx;-TmDMC6i&irw|uVTcutRin)$FM"
            "Y#Q4Qq<^tFx%5JZWLCgbrJuq)h5HXxw<qo"
        ),
    ),
    Exercise(
        number="12.3",
        asks="Seed 14 with the lock: how many microseconds did the acknowledgement of b wait in line?",
        read=whole_number,
        right="483dd863117f4796",
        hints=(
            "Where no thread waits in line, you see when it arrived.",
            "The row `ack 2 of b` of the table `moments`: with the lock, and fixed.",
        ),
        solution=(
            "c-ke5Z3@CL42G}r9$<);4cTr}+Kh&|M3Q1XzU}<|e1tX38@M8x@rN>E#c~f1oSaOZl1lao(NPOw=Wkb%s%4f~)!;?j;F8h0^fp"
            "c8{{KAJd701($rTsX10{AO-pGd2t3h6xjw|1d==K9!vNCf"
        ),
        remarks={"258ee7aa62114e42": "That is how long the acknowledgement of a waited."},
    ),
)
