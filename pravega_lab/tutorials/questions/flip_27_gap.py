"""The exercises of ``notebooks/08-the-flip-27-gap.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="08.1",
        asks="b1, with the failure and without any scale: what does the ledger say of the copy?",
        read=word,
        right="d7d49c2c2f3274e7",
        hints=(
            'Let it happen: `copied("b1", Story(acts=..., events=480), SEED)`, with one act.',
            "`.ledger.verdict().sentence` of that run is the answer.",
        ),
        solution=(
            "c-k$E(G7z@3`1A(0Ej*M(;ZUIa1oH8OG?}Adqw@S^kn<-EmMxTJA%tjOVA1n#0t!fn5x*)L5~uUIoXi)$2qNstL1=j@M"
            "Qbo@X%B@nCuL^sw6Z6jZ*q9Qn#%?#fV!XW$m4ZXB{Be{p4j8%%a<~@h{UHzey!J^Z"
        ),
        remarks={"4192f87b72dfae03": "That is with the splits and the merge."},
    ),
    Exercise(
        number="08.2",
        asks="b2, checkpoint 2: how many events of each source subtask would be read twice?",
        read=numbers_in_any_order,
        right="cfdf32a7cd360d94",
        hints=(
            "In the timeline, the hatched part of a source's row is between the cut and its barrier.",
            '`b2.job.to_pandas("source_cut")` has a row for each checkpoint and subtask.',
        ),
        solution=(
            "c-ke6F%E!02n4^fosF@w@F9KxJya4s42LoIdr_MWff=?3<%FTbs4M%%hKLF>#=Vh43X)#a&Iyv=8)iLg;4$r**ANKCl-Qb"
            "riOeKcVQGeV!A-UOv_s>i_{SE|;(rz9%ex2V#V!H"
        ),
    ),
    Exercise(
        number="08.3",
        asks="b1, at the failure: which reader has segment 4?",
        read=word,
        right="231a0d6e12a84b51",
        hints=(
            "The table of act 1 says who got it, and when. The failure is at 5.7 s.",
            "The reader that acquired it last before that has it.",
        ),
        solution=(
            "c-mc!K?=h#3<STjkgF3~=qK_FVaZseky2YF->*Xth2EB7XSY1nwz&zhwE4DR4N!i)wFzT-fJ#V1R6(wix5L#U;jCiNKqbb"
            "dV!9)IkPb0U=-=$8;qb1ZZt(Iq19s^!4;bw-&JxIY0Qe}jpLz9`4+pL~Bm"
        ),
        remarks={"d14f1303db52be4a": "That one got it after the failure."},
    ),
)
