"""The exercises of ``notebooks/13-streaming-and-batch.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="13.1",
        asks='Figure 1 with the words "abacab": how many results are emitted in streaming and in batch mode?',
        read=numbers_in_any_order,
        right="a6a64dc2b3b62675",
        hints=(
            "One per record, or one per key.",
            'Run `figure_1(STREAMING, "abacab")`, and look at what each `Touch` has `emitted`.',
        ),
        solution=(
            "c-n2su?>JQ3<c3u{s2)LBqm`2lQ<ATY{^c;_5=zl+Iu&n3cMRrtFobK<^UB&Q3F%jVVu-*07=I5+$;5wf6jxih-GJ-<ozWr"
            "pP)MWFsH`x221}Z<^"
        ),
        remarks={"4c43ff02253c3499": "Batch mode emits one result for each key, at its end."},
    ),
    Exercise(
        number="13.2",
        asks="The months in the reverse of their order, a bound of one day: how many events are in a result?",
        read=whole_number,
        right="006d850d25dd9aac",
        hints=(
            "Which file is read first, and where is event time then?",
            "`year_then_live(BY_TIME[::-1]).counted` says it.",
        ),
        solution=(
            "c-lRTK?=h#3<STj4+w#Vo_g*_)Od{zwgr+J$nWd4(A%)f%x$|r5QWJ4Ht^sGhh|Xrf+Xj~Pwwn5+WIF{hfxx8H4n&0=z7q90Yv"
            "RY=(o%H&Blc%#TK|iT7%BTrZu8C#E2%r^#jWkF}D"
        ),
        remarks={"82b8188bb6306207": "Read in reverse, the days go back."},
    ),
    Exercise(
        number="13.3",
        asks="By name again: what is the smallest bound, in days, with which no event is late?",
        read=whole_number,
        right="8957fb751ec38957",
        hints=(
            "What counts is the longest way back: from the newest day read so far to the day that is read.",
            "Once event time comes to the last day of December, January is read.",
        ),
        solution=(
            "c-l3NI|{=v5Jays2QY3DQlw6mIu}@3>u5pR4f@3R_Lc?i<}nO!ZjbvDTVTbTv{Bw61)0fD;6H0cmBa{Cuvib(Py>%j^b1=DMk*"
            "Da_LE<{aB`d{B+*tz@2shx@#%3B^|oEZRdQc;xa6m(I~>D){ZpwD<9q-*5jij"
        ),
        remarks={
            "c115145ccc3456b3": "So it is on the safe side; a day less is enough.",
            "c40421bece2db6f8": "Then the first of January is late.",
        },
    ),
)
