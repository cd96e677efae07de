"""The exercises of ``notebooks/07-two-kinds-of-checkpoint.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="07.1",
        asks="For how many aircraft did kafka bring events out of order?",
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
        asks="In which segments are the first event out of order and the event that it came after?",
        read=numbers_in_any_order,
        right="7a4622b9661aab93",
        hints=(
            "`kafka.disorder()` is in the order of the copy. Look at its first row.",
            "The number of a segment follows the #, its epoch the e.",
        ),
        solution=(
            "c-kGwK?;B%6olcc47d#!1}!>A7kKEHfhnjY-9B?Q!~Ypba@cmL4L--1dxbJHs&$#$rNS0U<M@FIE$~HWAu1)(X&iyz!_;t1M&j"
            "_n=lw@3H{q{RoBjaKr6p?"
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
            "c-lRX(QU&p3`AGC0fG#WzfRB@nCNV&QAtCj>x^G22J%T9?>&%w$s=x1i`sNWbJ!lR1vU!D6<_$VJEBV9Np6mPLlwuM6bPK_FEt"
            "Q`77l8`QK>mhlv6s(1#XbuPf8}U>rlSlOUh%4zNZiO%$|NSqVg^8vic3OMCO7;THgmR*mV}VNeXOyv?qLaH}RMU1U*HX8|_g)R"
            "OR2SCmY4+^8@f|M>4Meok(EO"
        ),
    ),
)
