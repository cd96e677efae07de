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
            "`checkpoints.frame` says when each was requested, and when it ended.",
        ),
        solution=(
            "c-lpdQ3}F93`DOo2Plh*ir;#Yu$!_=Yf_t(y?*mi>eoQXdowDW@Tr`qMVmOhD>@lg{%vf|1?0Fs(**{Sf~?<VX6NJlfDP!C1zs"
            "65nFmRQS5zuk$Se%a6W%=P%JCIkb3@)D4Wf=ow95d~!+DFU({}dd|Hj}{cz}+0r8_L`^nXHN"
        ),
        remarks={"5a7c34df04e7e3e7": "It was requested by then, but not every reader had passed it."},
    ),
    Exercise(
        number="05.2",
        asks="Segment 1 went from bob to cem. For how many milliseconds did no reader have it?",
        read=whole_number,
        right="f23d910895dc2573",
        hints=(
            "In the lane *nobody* it is a bar. What is its length?",
            "`readers.moves` has a column `gap_ms`. Look for the row from bob to cem.",
        ),
        solution=(
            "c-kF}K@Nj33<STjQm-f?%@2C$KTK>&q>!kwDc`T*X6^2bQw&)8f|C?1xzZ3uU)NfifD9>xIYK8;V`SMu`FoUW^oTe&X($Gz6Sk"
            "2}ND;fDlF0~o9d^4nVsLRpdvBoCOFUzkp#kqcAXR=YQpvrsx=H;0?9%K;2}6jTxn8)4(YoDP_ygz(KDP"
        ),
        remarks={"d3675228bc807d70": "For that long no reader had the successors of the split segment."},
    ),
)
