"""The exercises of ``notebooks/15-shared-state.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="15.1",
        asks="A key-value table has 200 partitions. Which segment holds the entries of the aircraft N228UA?",
        read=whole_number,
        right="b0fb56c7849e51a1",
        hints=(
            "Part 5: the version of an entry names its segment.",
            "Make such a table, put an entry under this key, and look at `segment_id` of its version.",
        ),
        solution=(
            "c-l2hTMEM<5WLD9pok4p$US-i!A&ELyW(zy+`iV*zj@EPI6QYk70s4~AscM)H(kgI@4_R58zQGEFW#fZW;3fux#v"
            "XF`41?zCIucQxPv<Jas4hjHT^!=9t{!oG&HiajS9y?I%jksD7^}?xepKhHPQ"
        ),
    ),
    Exercise(
        number="15.2",
        asks="Ten programs add 1 to the same shared state, all at once. How often is decide called?",
        read=whole_number,
        right="ba19a973e5c3771e",
        hints=(
            "In the first round ten programs decide. How many of them have to decide again?",
            "One program wins each round. Add up the rounds.",
        ),
        solution=(
            "c-l3MK@P$&3<STjcPfiY<N!b5#2cc<P#<t2J5|4r+lYfLYj?eq65*-nE8{KZ9ac9j=&Wc~KbF6a!iyB1AS36z)QG"
            "5PXgMygsQSQs#Rc~mB8oi|UdsO#?4l0N%Q^_t@pVwPR&r-YHpXt!LmREPbb?)~4%fJGL<{`@!lgTu"
        ),
        remarks={
            "ac35d10515f0a0b6": "In every round all who have not won decide, and the winners are done.",
            "c351128a3172bb4f": "These are the decisions that are repeated. What about those that won?",
        },
    ),
)
