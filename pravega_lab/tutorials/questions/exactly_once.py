"""The exercises of ``notebooks/11-exactly-once-end-to-end.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="11.1",
        asks=(
            "One subtask. Transaction 5 was pre-committed at checkpoint 5, which is complete, and "
            "the notification was lost. Transaction 6 was pre-committed at checkpoint 6, which is complete "
            "too, and the process died before any commit. Transaction 7 was the current one then, and 8 "
            "was begun by a subtask that had passed the barrier of checkpoint 7. Which transactions does "
            "the restart commit?"
        ),
        read=numbers_in_any_order,
        right="7532e95daac787a0",
        hints=(
            "What does the checkpoint from which the job is restored say about each of them?",
            (
                "A pre-committed transaction stays in the state until it is committed. It does not matter "
                "how many notifications that takes."
            ),
        ),
        solution=(
            "c-l>l(G9{d3`AGC0Z{)ah#}a)O%08j+L7%Fu{}u<5`R9)_wJoRGGn}9(pW&os4R1qC$b<Gh6e>hA4m(QwQ82Ycsg1HV-Gc+p_P"
            "r=iKN?>!$GCAIt8--hyyM?b!ghnxPih*oKj>x#*Dw<_C=Fg@I2tIommUF^zX2Wz8u#RT#=(|zP)P*c8OfjB?^->+PV)P218O("
        ),
        remarks={
            "a29b968ce851bf66": (
                "The transaction before it was not committed either, and its notification will not come."
            ),
            "af6a02d003bed3c9": "The rows of the current transaction are read again.",
            "3b907a0df83263f5": ("Rows after the barrier of a completed checkpoint are read again."),
        },
    ),
    Exercise(
        number="11.2",
        asks=(
            "No lease ends, and yet the job is always restarted from the checkpoint before the last "
            "completed one (checkpoints_back=1). After which of the seven kills is the output exact "
            "all the same? Give the name of the Step."
        ),
        read=word,
        right="39c918ba2790d0ec",
        hints=(
            "Try it: killed_at(step, PravegaWriter, checkpoints_back=1).verdict.sentence for each Step.",
            (
                "The output is exact if nothing was committed after the checkpoint to which the job goes "
                "back. To what does it go back while only the first checkpoint is complete?"
            ),
        ),
        solution=(
            "c-oDS!A=7)3`BorKA_qU;0Wps1cyqTv#GN&?b@rvZRp=O$rfoPIB>H(qc>x}yuW?C?hpGXSR`cfDo6N8{<J8Ifit|$%bARJa8("
            "nv$TC3#_(z`EjE)07Bc%$_nO0A68yPMbr5>~4o1#SavG2ch#H5rlI)B<d_$*!1i!GPxFYIZ+GX<?t|LFXS+alZYO6i7?CKjn(*"
            "W=ngY02%nHV01GwrE#F|15MUiY2;SLz;)aoi~J}bN8NI!#p}|yRNa_CyM&o`XLn>?oW}DY5"
        ),
        remarks={
            "b18f17e2c336303e": (
                "Then the first checkpoint is the last completed one, and its rows are in the output already."
            ),
            "d50d944544ae1dfe": (
                "Then the first checkpoint is the last completed one, and its rows are in the output already."
            ),
            "3d3e8b6e8aa9d692": "The rows that both sinks have committed are read and committed again.",
        },
    ),
    Exercise(
        number="11.3",
        asks=(
            "The process dies when the checkpoint is complete and nothing is committed, and is down for 60 s "
            "(down_s=60). In whole tens of seconds, which is the shortest lease (lease_ms) with which "
            "the output is exact?"
        ),
        read=whole_number,
        right="138bed348a61e7db",
        hints=(
            "When did the lease begin to run? Not with the kill.",
            (
                "Try leases from 40 s on. When is the commit of the restart, in seconds after the "
                "transaction was begun?"
            ),
        ),
        solution=(
            "c-l>n(QU&p3`AGC0SqJUNBf-_ngv*!iiFA{AhIyLeMq@T`Xz~X;Jwr51v=xF8I?&H-+ZTry;z3%&^k4x#fr2Egj&pMn38lJhM!"
            "WaD{URGMYgS29IP)pCF4Hy&T7<c#+QUV5+&ioAy5=10?pD5zJE*uErb^ab~=rR{I<K_oW}Py-g%vIZIHTpnlz4$e*(ymsU{TDG"
            "j@VXOldT5dp%Bv<Jj{zHacQ`<>bt_5v7#)i8o=%B5r(pj|%Y(>fJ3DM+?*c(hv1ce0="
        ),
        remarks={
            "3d8112d1a38e1eb6": (
                "Count from the beginning of the transaction to its commit, not from the kill to the restart."
            ),
            "2551c08144a049c8": "That is always safe. Here a shorter lease is enough.",
            "6aabc4e9aa074871": "That is nearly the lease to set. But here a shorter one is enough.",
        },
    ),
)
