"""The exercises of ``notebooks/16-streams-as-tables.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="16.1",
        asks=(
            "Created as placed, updated to paid, updated to delivered, deleted: which operations do the "
            "events of the view of open orders have, in their order?"
        ),
        read=word,
        right="85a094fd8fe30488",
        hints=(
            "Part 3: the filter sees each update as two rows, and decides about each of them.",
            "What does the sink write of a row before whose row after is missing?",
        ),
        solution=(
            "c-lRV(G9~O3`AGC0jf;X1>A5HloVHBVEvMS`swHMJMXA)8=isi@ib-}<hQ^E$lCFu*UWpg5VOM`B)thq4oU5w6Mx-Cd!XnIHM;>$"
            "O5?P($c`Q@K;U@NxN5cL0hf1f%E(++3o<L#Z%e0j_C&)+jscQ_jmfqjf{RHY"
        ),
        remarks={
            "755820ebdb8ae875": "A delivered order is not in the view. What takes it out?",
            "511626bd69ed5bba": "Has the view a row that the fourth change could delete?",
        },
    ),
    Exercise(
        number="16.2",
        asks="+I 500, -U 500, +U 700, -D 700, and the last three rows once more: what is the sum with signs?",
        read=whole_number,
        right="64983f278ac3b7e8",
        hints=(
            "Part 2: rows that take something back count with a minus.",
            "The sum was 0 before the repetition. What are the three repeated rows worth?",
        ),
        solution=(
            "c-ke5F%E+;5Cp%nePTotQSl2tV4F+M681&DBPhSehGvW1opG;m9I!AUc#DjrIHVfGwE+)IE!~y#RXyR$ie&wm3ao*;XGn>JER}"
            "B8FVO*cWAkc=?8}F=6O_O9Zwl=OW!bkCfrb<J#3<k"
        ),
        remarks={"db016a11fb7431d6": "That is the sum before the repetition."},
    ),
)
