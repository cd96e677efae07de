"""The exercises of ``notebooks/03-reader-groups.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="03.1",
        asks="Four readers share ten segments and are left alone. How many does each have in the end?",
        read=numbers_in_any_order,
        right="3df0e093c1b8759c",
        hints=(
            "Part 3 shows when a reader gives a segment away. When does it stop doing so?",
            "All ten are held by somebody. Nobody has two more than another.",
        ),
        solution=(
            "c-lpdK@P$&3<STj52$*8pTH4uaGPxt(by;st@?YC140_vyFQHkxDIGs8qX0oN?>uUX(ya(rdEd>at<&hq=GU>%#ri!"
            "ZAt3@acrh*-)@<cg%h!rdKfl(3sJNU_VdmWcY{YMbcD1lESS!pJezl;22?5}ckg1Kg5>x=I(`9llRNz"
        ),
        remarks={
            "c8d978b94aaaa0f9": "Then one of them has two less than the others.",
            "81056787340b3f8f": "Those are eight segments, not ten.",
            "9e42246c6c8719b9": "Then one of them has two more than the others.",
        },
    ),
    Exercise(
        number="03.2",
        asks="Whom does the checkpoint noon wait for?",
        read=word,
        right="b41115b0a46c0de6",
        hints=(
            "Part 3: a checkpoint waits for readers. Which of them were there when it began?",
            "Who was online at entry 5, and who has reported since?",
        ),
        solution=(
            "c-l3N%?iUn2!vl{jt!LDN};ztikmgv?T-dEguZ><Ll43@4&PX`%(!D|yu3E;5;&-bV^u>mhA~w(PfdAZW2n5lFpkE8"
            "9w_`E!HFg8i_3HaiR4t2K^{vZPt2wkT>ruAG-Kfpo>`eLt-&^Ejp`uoa)#?Lx<eFY_sqFNSG0U*{sHWoKVJ"
        ),
        remarks={
            "75a1bc489602958d": "That reader came when the checkpoint had begun.",
            "33de7064c646eeb8": "Entry 7 says that this one has passed it.",
        },
    ),
)
