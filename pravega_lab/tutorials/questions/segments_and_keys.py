"""The exercises of ``notebooks/02-segments-and-keys.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="02.1",
        asks="A topic grows from 4 to 8 partitions. How many of the aircraft change their partition?",
        read=whole_number,
        right="a0dddc6738f95712",
        hints=(
            "Part 3 counted the same for 4 and 5 partitions. Look for the function that did it.",
            "`moved(before, after)` counts them. About half of the keys will move: why?",
        ),
        solution=(
            "c-k$^!4AS85CqU)nWHA8sRpC*=Ed*m(r$$aYywo$zZZ<xotd|%@uVRu&T7=xJEkBXUJhE}cAN%05Vv4B!LXMKja+EYkc3x~"
            "nql^Ka}mWd5(jc|;iQlSWMnI_<kznE{LO9I`2kO^%`BE8sw);31=HG0v;DUN<`#O%3|IQY=7PNcNtpr<Up|LC_W"
        ),
        remarks={
            "a6235b9dbff4aec4": "That is for 5 partitions.",
            "189324c5c01b70e7": "That is every aircraft.",
            "42adfd7a27289725": "Those below 4 as a remainder may stay, but not all do.",
        },
    ),
    Exercise(
        number="02.2",
        asks="Which segments must have been read to their end before the first event of #6 may be read?",
        read=numbers_in_any_order,
        right="e5507ea0ec29b19d",
        hints=(
            "Not only those that #6 names: may they be read at once?",
            "`waits_for()` says who waits for whom. Follow it back until nobody waits any more.",
        ),
        solution=(
            "c-lpc%L>9U5Ji9GK(-}Vur6Hs8{#6^M1#$YG%3ZucjCs?eQ+Pw!@xK&-8}9@ZZ$56Js2VBiW><s<0j8#YlhrIiKuZ+v}dHgm"
            ";4jXmU{MIHa|<>q;0F%!I4}MZG@uo==E~$Dcz-_CRbkZQ~ehh{x3r"
        ),
        remarks={
            "4efd401a0d80f4ca": "These #6 waits for itself. But one of them waits, too.",
            "daf3eaf1f699ec1e": "#4 owns keys that never come to #6.",
        },
    ),
)
