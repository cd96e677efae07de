"""The exercises of ``notebooks/06-spark-pipelines.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, words_in_any_order
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="06.1",
        asks=(
            "a is committed, b was aborted by the store, the new driver has written c and d. Which "
            "transactions are in the stream in the end?"
        ),
        read=words_in_any_order,
        right="b35728e3aff3163f",
        hints=(
            "Which rows are in the stream already, and which are missing?",
            "What is committed cannot be taken back. Which newcomer holds the rows that are missing?",
        ),
        solution=(
            "c-mEu(G9~O3`AGC0T2Upk$yYi1k`{d;}&)MLZYhbk3Zhs*=GXPi0E-oWXKIcO37v%(Tv{BojOe=S6JeKm8p0vlWkJj"
            "p$Q_49z0CeaO@QLYgZ1U@iqh`*<-tQP#KE!23ddLAhm2+szXmXq$@9dbb3}hi%b&p#?Ais<4}3AN0_B(5giXWtfFV3"
            "^Aah~z?eN-0{IWOhgYN"
        ),
        remarks={
            "d6c3905c362bc3bc": "Then the rows of partition 0 are there twice.",
            "871e03e24a90112b": "Then the rows of partition 0 are there twice.",
            "0179bb015cfc67b8": "Then the rows of partition 1 are lost.",
            "75a259ff3dbca308": "What the store has aborted does not come back.",
        },
    ),
    Exercise(
        number="06.2",
        asks="Which segments does the task read that reads 6?",
        read=numbers_in_any_order,
        right="2283b47b926ff369",
        hints=(
            "A segment and its successors are read by one task. Begin with 6 and go back.",
            "Go back to the first segment, then forward again: has it another successor?",
        ),
        solution=(
            "c-ke7OAf*?3`DOo2Z*ZjDGOL}4#dJxw+Vz8#fFO8<F+eH_RM>}v;mudeLxp*xHdT8ML$T%Kin9VsRs?l6&<Mbb9Nrx"
            "npiLGY1!>DNX{}TT0A~#AoW}?tPRdN!y*|Xl~G|bvPG{ZT@|-k$uQDqz`JtKcUG0E7*bVhuw4{8?|&IZET%F##_^bv"
            "MI<{SQyqD>I@*7$9KdvsaF>D>IArjsLZ;IE0hfGH?E"
        ),
        remarks={
            "79126d6b4e9d5111": "For these 6 waits itself. But one of them waits, too.",
            "b3cffede5b9b479a": "The first of them has one successor more.",
            "e66f6befab48d80f": "Two of them follow nobody, and nobody follows them.",
        },
    ),
)
