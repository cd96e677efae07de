"""The exercises of ``notebooks/08-the-flip-27-gap.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="08.1",
        asks="b1, with the failure and without splits and merges: what does the ledger say of the copy?",
        read=word,
        right="d7d49c2c2f3274e7",
        hints=(
            'Let it happen: `copied("b1", Story(acts=..., events=480), SEED)`, with one act.',
            "`.ledger.verdict().sentence` of that run is the answer.",
        ),
        solution=(
            "c-lRVQ3}H_3`4J?&kaUl7ug-W#%at_yTo3*-hSzz`;m~4;PHpX81OJSPcv(PHE{xIf|@dBTYC)ajYZ*x#+15Ij;_7ISa^IbCK@"
            "-mfmd!j7IO(Ph0@H9tx!P1&$oxvib6i%^1NR$*)eLS6HMz4$)G>cf#5$PLMEy2#>iHyZ9aSfA#X(;"
        ),
        remarks={"4192f87b72dfae03": "That is with the splits and the merge."},
    ),
    Exercise(
        number="08.2",
        asks="b2, checkpoint 2: how many events of each source subtask would be read twice?",
        read=numbers_in_any_order,
        right="aa9bef3b52fac9df",
        hints=(
            "In the timeline, the hatched part of a source's row is between the cut and its barrier.",
            '`b2.job.to_pandas("source_cut")` has a row for each checkpoint and subtask.',
        ),
        solution=(
            "c-l>j!41Md3<O)*0#Kf*ga(}45>5&>@;RXE9&_Zu#~yh-J43W!o^Z8|ai=3khd93gzNpa>CC07TvFt3UI^xxyJ=LV$bo<Fz#Jw"
            "ih22<43-_j8Vfl~_oGTt8MfBihOu^QwSXWM$j^Z}5AIp+"
        ),
    ),
    Exercise(
        number="08.3",
        asks="b1, at the failure: which reader has segment 4?",
        read=word,
        right="231a0d6e12a84b51",
        hints=(
            "The table of act 1 says which reader acquired it, and when. The failure is at 5.7 s.",
            "The reader that acquired it last before that has it.",
        ),
        solution=(
            "c-mc!K?=h#3<STjkgF3~=qK_FVaZseky2YF->*Xth2EB7XSY1nwz&zhwE4DR4N!i)wFzT-fJ#V1R6(wix5L#U;jCiNKqbb"
            "dV!9)IkPb0U=-=$8;qb1ZZt(Iq19s^!4;bw-&JxIY0Qe}jpLz9`4+pL~Bm"
        ),
        remarks={"d14f1303db52be4a": "That reader acquired it after the failure."},
    ),
)
