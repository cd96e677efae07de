"""The exercises of ``notebooks/04-break-it.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="04.1",
        asks="In which run is an event twice in the stream, so that every future reader finds it twice?",
        read=word,
        right="87dc6f3a1c975134",
        hints=(
            "Doubled means that it was read twice. At which places were the two copies?",
            "`stored(...)` counts what is in a stream. How many should there be?",
        ),
        solution=(
            "c-k$EK@P$&3<STj52zv`@d1w9`9NsgCWqR{HbnhBZrYQj_0Ft*8MlO2B_((zd{kD=8@h_03H^xOAUqQ`QJP?KJa*(@8jq5>Qc&"
            "69T_DS1<d*PcXe``8d9J4k&7vKiGL#cCmjQ*KklMItp76M$7zpp1*2V^wj-_$2!=}5}#_JHJKX7wL$N"
        ),
        remarks={"a9c733f983c137e2": "There every event is stored once."},
    ),
    Exercise(
        number="04.2",
        asks="Run 5: how many events of segment 0 are gone from the stream?",
        read=whole_number,
        right="141777faddf7881b",
        hints=(
            "The table `cut` says in bytes where a segment begins now.",
            "All events of these runs have the same size: `EVENT_BYTES`.",
        ),
        solution=(
            "c-kF}OAdoD5JRux10YoOukLz*-eCZjM1o0`89>~=2@88;Kl^cg!2@9&XR4#)7}X$-TXVXcp=oO%IuwCxZ3HpgpXhd{wfH0@(zk"
            "BR*h(}d^QO%7vKTR>3Jl0Bc64N#TD;+T(Ox_ztpu$cd5Ah<3(Txnc|Ry-M8i+a5#7))-u?kX`#uE"
        ),
        remarks={
            "2737a4dd116c6038": "That is how many were lost: the events that no reader had read.",
            "dc52f0ae3e57eeab": "That is segment 2.",
        },
    ),
)
