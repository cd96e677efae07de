"""The exercises of ``notebooks/06-spark-pipelines.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, words_in_any_order
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="06.1",
        asks=(
            "a is committed, b was aborted by the store, the new driver has written c and d. Which "
            "transactions are finally in the stream?"
        ),
        read=words_in_any_order,
        right="b35728e3aff3163f",
        hints=(
            "Which rows are in the stream already, and which are missing?",
            "A commit cannot be taken back. Which of the new transactions contains the missing rows?",
        ),
        solution=(
            "c-mEuQ4Yf(3`4Kt10b%m?-a5UZIFtjt9JWAt7+P=ojltFY8g4=R>&cSq_v7WXPDF5!s*j=q`?ahxii&>WooN74lqTA(}Ty68@4"
            "AU{+@SE+6O-ma&wYq7lrEZ^f2iCCv4PRT(kuoMN+v4dW_$_`B`NuSyndxPr%mo#Sv-NqDA|d5U_Bf-FOTrbd{T#@dE`JRpk"
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
        asks="One task reads segment 6. Which segments does this task read in all?",
        read=numbers_in_any_order,
        right="2283b47b926ff369",
        hints=(
            "A segment and its successors are read by one task. Begin with 6 and go back.",
            "Go back to the first segment, then forward again: has it another successor?",
        ),
        solution=(
            "c-loyOHRZv486)bKvWGdoomd3C1PQk*ES-xQ5;eA_M{V`+1T>?`r{Jt5^xO|18$!K-nneliW@dLV44qn5rq;Vb7jE@(Rg~!HFi"
            "a3E(5NZEoa*uEmyqp(dYy2N>uUhN038uhW8>zU8O<_F_|i-%7~;5O^#iTfS<z1iSAY$b1Gg3ygu6Bu*xr?_HRw5*i&7bn_K^oG"
            "Oe)rM4ZS{7Cx&Nwjuqqrb+FxU57u>lw3F"
        ),
        remarks={
            "79126d6b4e9d5111": "Segment 6 itself waits for these. But one of them waits, too.",
            "b3cffede5b9b479a": "The first of them has another successor.",
            "e66f6befab48d80f": "Two of them have no predecessor and no successor.",
        },
    ),
)
