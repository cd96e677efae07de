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
            "c-lRV%?iRW5QJZ4jtZr;5>dQ)@j1F_w<ef&B^wQWdlQge=jWU0yWT)%oSM#DZWtE%@^ml_uE(Lp9g!FE>%<Y3gJc+JqD_$;Lup"
            "}1#4}1(*bSwo0<!W+a1`bWuE7_VMkTj+a4xJ}C^oIgJ~^E6rkH&4vT6fc5KN={BNmJ$7epC8X&J4LD1`k-`vYzeLp="
        ),
        remarks={
            "a6235b9dbff4aec4": "That is for 5 partitions.",
            "189324c5c01b70e7": "That is every aircraft.",
            "42adfd7a27289725": "Keys with a remainder below 4 may stay, but not all do.",
        },
    ),
    Exercise(
        number="02.2",
        asks="Which segments must have been read to their end before the first event of #6 may be read?",
        read=numbers_in_any_order,
        right="e5507ea0ec29b19d",
        hints=(
            "Not only those that #6 waits for: may these be read at once?",
            "`waits_for()` says which segment waits for which. Follow it back until no segment waits.",
        ),
        solution=(
            "c-l>jO$viB5QVSuAlncWst4#b#KqK3Y|v!HiHNuF*i~2Whxfjr@n}7|F~IdmRe6m#$qb_Ga4o33;ktn5QB5&XW{7!-s2_%IYx)"
            "IeBo#ya-y6d|kQ7BKC`*~|Q}%fAM2GS{m$N9u>KzMT8orZYE&l"
        ),
        remarks={
            "4efd401a0d80f4ca": "#6 itself waits for these. But one of them waits, too.",
            "daf3eaf1f699ec1e": "#4 owns keys that never come to #6.",
        },
    ),
)
