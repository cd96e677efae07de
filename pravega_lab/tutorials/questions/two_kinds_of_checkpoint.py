"""The exercises of ``notebooks/07-two-kinds-of-checkpoint.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="07.1",
        asks="Of how many aircraft did kafka bring events out of order?",
        read=whole_number,
        right="f3d59f932b6b0ab6",
        hints=(
            "`kafka.disorder()` has a row for each event, and the key in a column.",
            "Count each key once: `nunique()`.",
        ),
        solution=(
            "c-ke4!3}^g48&Hs33wy^3=)-tM3h!)0*LLY;AzVqCrHkqZ5j}3smU4xW=V>j4^$i$j>4M_yjVI|K`7y8N_4Lcb^QgmqX)Px^"
            "t)<a`c(^kcmbiCC6f"
        ),
        remarks={"6a3608f8597f8b7e": "That is the number of events."},
    ),
    Exercise(
        number="07.2",
        asks="In which segments did the first event out of order, and the one that it came behind, lie?",
        read=numbers_in_any_order,
        right="82fa80e91782efd2",
        hints=(
            "`kafka.disorder()` is in the order of the copy. Look at its first row.",
            "The number of a segment follows the #, its epoch the e.",
        ),
        solution=(
            "c-kGv!3lsc5CzdzrT`Ig@M0Y{u$Uhdk`0(>+E+Zx;Z49ivaBqmnsXhEFmZN<HHt+s4msg>lV!!3?GSq8oqB&I`Zrud7uCgXM"
            "Wpj;eSQI}@E?@"
        ),
    ),
    Exercise(
        number="07.3",
        asks="The same story without its failure: what does the ledger say of kafka's copy?",
        read=word,
        right="2a28e7b09182f8b5",
        hints=(
            'Let it happen: `copied("d", replace(STORY, acts=...), SEED)`. Look at its `ledger.verdict()`.',
            "`.sentence` of that verdict is the answer.",
        ),
        solution=(
            "c-lRW!4bkR3<O)b0x}ekA5Y2<_!0+<m9Z2;`N(15D@(g;zUAg4s(N1P4BZ?$L0e)w;f%Xp;aMCHay4u#vKSgAL13Jptd"
            "2diVsR`MBPmP+Ok*m}7h8Yn2ZqY`u~fNt`o%FT4SUlt9}v$xl(BSW1f>x&c`yW%EM;pPu+?ZoQ3;K<zx=D{fK|+UyVLv"
            "|UyqJSO8Ie-x;cIg%eu$?=>va}T}l"
        ),
    ),
)
